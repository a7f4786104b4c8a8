import type { StateJob } from "./messages.ts";
import type { Statements } from "./statements.ts";

/** The keys somebody wrote or deleted after the snapshot; empty when the writes may go ahead. */
export function stateConflicts(sql: Statements, job: StateJob): string[] {
  const scope = sql.findScope.get(job.tenant, job.tool);
  if (!scope) return job.existed;
  const scopeId = Number(scope.scope_id);
  const isChanged = (key: string) => {
    const newest = versionsOf(sql, scopeId, key).at(-1);
    return newest === undefined ? job.existed.includes(key) : newest > job.snapshotVersion;
  };
  return job.writes.map(([key]) => key).filter(isChanged);
}

/** Writes every key under the scope's next version, and drops what no snapshot can see any more. */
export function writeState(sql: Statements, job: StateJob): void {
  if (job.writes.length === 0) return;
  const scope = sql.raiseScope.get(job.tenant, job.tool);
  const scopeId = Number(scope?.scope_id);
  const version = Number(scope?.version);
  for (const [key, value] of job.writes) {
    prune(sql, job, { scopeId, key, version });
    sql.insertState.run(scopeId, key, version, job.callId, value);
  }
  sweepDeletions(sql, scopeId, Math.min(job.snapshotVersion, ...job.pins));
}

/**
 * A version is needed while a pinned snapshot stands in its span, or one may still be opened there: the store opens
 * snapshots without asking this thread, but never below the version this unit's own snapshot has.
 */
function prune(sql: Statements, job: StateJob, at: { scopeId: number; key: string; version: number }): void {
  const versions = versionsOf(sql, at.scopeId, at.key);
  versions.forEach((version, index) => {
    const lastSeen = (versions[index + 1] ?? at.version) - 1;
    const isPinned = job.pins.some((pin) => version <= pin && pin <= lastSeen);
    if (lastSeen < job.snapshotVersion && !isPinned) sql.deleteVersion.run(at.scopeId, at.key, version);
  });
}

/** A deletion every snapshot is past says no more than an absent key: it goes, with everything older. */
function sweepDeletions(sql: Statements, scopeId: number, oldest: number): void {
  for (const { key, version } of sql.listDeletions.all(scopeId, oldest)) {
    sql.deleteUpTo.run(scopeId, key ?? null, version ?? null);
  }
}

function versionsOf(sql: Statements, scopeId: number, key: string): number[] {
  return sql.listVersions.all(scopeId, key).map((row) => Number(row.version));
}
