export { type PoolCounts, type PoolOptions, SandboxPool } from "../pool/sandbox-pool.ts";
export { createInlineRunner } from "./inline-runner.ts";
export { type Argv, programArgv } from "./process-argv.ts";
export { createProcessRunner, type ProcessRunnerOptions } from "./process-runner.ts";
export { createScriptRunner, type ScriptRunner, type ScriptRunnerOptions } from "./script-runner.ts";
export type { ThreadCounts } from "./thread-pool.ts";
export { createThreadRunner, type ThreadRunner, type ThreadRunnerOptions } from "./thread-runner.ts";
