/** What `reload/` applies without a restart; everything below a key goes with it. */
export const RELOADED_KEYS = [
  "domain",
  "tools",
  "grants",
  "agents",
  "policy",
  "limits.concurrentCalls",
  "limits.concurrentCallsPerAgent",
  "limits.concurrentCallsPerTool",
  "limits.queueWaitSeconds",
  "toolLimits",
  "log.level",
] as const;

/** Whether a reload applies a key; otherwise a change of it counts from the next start. */
export function isReloaded(key: string): boolean {
  return RELOADED_KEYS.some(
    (name) => key === name || (/^[.[]/.test(key.slice(name.length)) && key.startsWith(name)),
  );
}
