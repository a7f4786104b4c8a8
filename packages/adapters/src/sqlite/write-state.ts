import type { StateJob } from "./messages.ts";
import type { Statements } from "./statements.ts";

/** The keys somebody wrote or deleted after the snapshot; empty when the writes may go ahead. */
export function stateConflicts(sql: Statements, job: StateJob): string[] {
  const scope = sql.findScope.get(job.tenant, job.tool);
  if (!scope) return job.existed;
  const scopeId = Number(scope.scope_id);
  const isChanged = (key: string) => {
    const newest = sql.newestVersion.get(scopeId, key)?.version ?? null;
    return newest === null ? job.existed.includes(key) : Number(newest) > job.snapshotVersion;
  };
  return job.writes.map(([key]) => key).filter(isChanged);
}

/** Writes every key under the scope's next version. What is outdated for longer than the retention goes, a few at a time. */
export function writeState(sql: Statements, job: StateJob): void {
  if (job.writes.length === 0) return;
  const scope = sql.raiseScope.get(job.tenant, job.tool);
  const scopeId = Number(scope?.scope_id);
  const version = Number(scope?.version);
  for (const [key, value] of job.writes) {
    sql.outdateState.run(scopeId, key, job.at, version);
    const isDeletion = value === null;
    const outdated = isDeletion ? [job.at, version] : [null, null];
    sql.insertState.run(scopeId, key, version, job.callId, value, ...outdated);
  }
  sweep(sql, job.at - job.retentionMs);
}

/** Older versions go before newer ones of their key, so that a deletion never goes before what it deleted. */
function sweep(sql: Statements, until: number): void {
  const floors = new Map<number, number>();
  for (const { scope_id, key, version, outdated_by } of sql.listOutdated.all(until)) {
    const scopeId = Number(scope_id);
    sql.deleteVersion.run(scopeId, String(key), Number(version));
    floors.set(scopeId, Math.max(floors.get(scopeId) ?? 0, Number(outdated_by)));
  }
  for (const [scopeId, floor] of floors) sql.raiseFloor.run(scopeId, floor);
}
