export { type DecodedManifest, decodeManifest } from "./decode-manifest.ts";
export { type CommandDefinition, type CommandOperation, defineCommand } from "./define-command.ts";
export {
  type DefinedTool,
  defineTool,
  InvalidInput,
  isDefinedTool,
  type OperationDefinition,
  operation,
  type ToolDefinition,
} from "./define-tool.ts";
export type { LoadReport } from "./load-records.ts";
export { manifestHash } from "./manifest-hash.ts";
export type { Registered, RegisterOptions } from "./register.ts";
export { type RegistryOptions, type ResolvedTool, type ResolveRequest, ToolRegistry } from "./registry.ts";
export { releaseProblems } from "./release-problems.ts";
export type { RemoveOptions } from "./remove.ts";
export { type DeprecateOptions, lifecycleAt, type RemovalCase, removalBlockers } from "./retirement.ts";
export { type BreakingChange, breakingChanges } from "./schema-diff.ts";
export type { QualityFinding, SchemaJudge, SchemaLinter } from "./schema-judge.ts";
