export { cancelled, classify } from "./classify.ts";
export {
  absolutePermissions,
  bindManifest,
  cpuLimitMs,
  escapeOf,
  implementationOf,
  isolationLevel,
  type LimitSources,
  noRunner,
  prepareFor,
  type Runners,
  runnerFor,
  sandboxLimits,
  unheldInProcess,
  unheldLimits,
} from "./confinement.ts";
export { GuardedHost, type HostedUse } from "./guarded-host.ts";
export { createHookRunner, type HookRunner } from "./hooks.ts";
export { backoffMs, DEFAULT_RETRY, mayRetry, type RetryOptions, retryPolicy } from "./retry.ts";
export { blameInlineTool, createInlineRunner } from "./runners/inline-runner.ts";
export { NO_USAGE, refused } from "./runners/outcome-latch.ts";
export { createProcessRunner } from "./runners/process-runner.ts";
export { type ReadManifests, readManifests } from "./runners/read-manifests.ts";
export { createScriptRunner } from "./runners/script-runner.ts";
export { createThreadRunner } from "./runners/thread-runner.ts";
export { cleanText, isJsonObjectText } from "./runners/tool-result.ts";
