export { createInlineRunner } from "./inline-runner.ts";
export type { ThreadCounts } from "./thread-pool.ts";
export { createThreadRunner, type ThreadRunner, type ThreadRunnerOptions } from "./thread-runner.ts";
