/* What a tool's module needs, and nothing of the engine besides: every thread that runs the tool loads this. */
export type { ToolContext } from "./ports/runner.ts";
export type { ToolCode } from "./ports/tools.ts";
export {
  type CommandDefinition,
  type CommandOperation,
  type DefinedTool,
  defineCommand,
  defineTool,
  operation,
  ToolFailure,
} from "./registry/define-tool.ts";
export { InvalidInput } from "./registry/vendor-schema.ts";
