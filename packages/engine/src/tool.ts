/* What a tool's module needs, and nothing of the engine besides: every thread that runs the tool loads this. */
export type { ToolContext } from "./ports/runner.ts";
export { type CommandDefinition, type CommandOperation, defineCommand } from "./registry/define-command.ts";
export { type DefinedTool, defineTool, InvalidInput, operation } from "./registry/define-tool.ts";
export { type ToolCode, ToolFailure } from "./registry/tool-failure.ts";
