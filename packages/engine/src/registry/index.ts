export { type DefinedTool, defineCommand, defineTool, isDefinedTool } from "./define-tool.ts";
export { type DeprecateOptions, lifecycleAt, type RemoveOptions } from "./lifecycle.ts";
export { decodeManifest } from "./manifest.ts";
export type { OnDuplicate, Registered, RegistryOptions } from "./register.ts";
export { ToolRegistry } from "./registry.ts";
export type { ResolvedTool } from "./resolve.ts";
export { InvalidInput } from "./vendor-schema.ts";
export { traitsOf } from "./versions.ts";
