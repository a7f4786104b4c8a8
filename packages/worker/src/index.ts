export {
  defineWorker,
  type Listening,
  type ListenOptions,
  type Worker,
  type WorkerOptions,
} from "./define-worker.ts";
export { ToolError, type ToolErrorOptions } from "./tool-error.ts";
export type { ToolContext, WorkerTool } from "./worker-tool.ts";
