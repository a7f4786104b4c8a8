import type { CallbackRow, Outcome, RecordJob, StateJob, ToolRow } from "./messages.ts";
import type { Statements } from "./statements.ts";

/**
 * The first callback that was written to meanwhile, or is settled already; nothing has been written then. Each write is
 * taken to follow those before it.
 */
export function callbackConflict(sql: Statements, rows: readonly CallbackRow[]): Outcome | undefined {
  const written = new Map<string, { attempts: number; state: string }>();
  const stale = rows.find(({ expect, cells: [callId, , , state, attempts] }) => {
    const known = written.get(callId) ?? sql.findCallback.get(callId);
    if ((known?.attempts ?? null) !== expect || (known && known.state !== "due")) return true;
    written.set(callId, { attempts, state });
    return false;
  });
  return stale && ["callback", stale.cells[0]];
}

/** Writes what `callbackConflict` found nothing against, in the order it was given. A new one is due now at the latest. */
export function writeCallbacks(sql: Statements, rows: readonly CallbackRow[]): void {
  for (const { expect, cells } of rows) {
    if (expect === null) sql.insertCallback.run(...cells.with(5, Math.min(Number(cells[5]), Date.now())));
    else sql.updateCallback.run(...cells);
  }
}

/** The first version that was written to meanwhile; each write is taken to follow those before it. */
export function toolConflict(sql: Statements, rows: readonly ToolRow[]): Outcome | undefined {
  const written = new Map<string, number>();
  for (const { version: cells, revision, expect } of rows) {
    const [tool, version] = cells;
    const name = JSON.stringify([tool, version]);
    if ((written.get(name) ?? sql.findVersion.get(tool, version)?.revision ?? null) !== expect)
      return ["tool", tool, version];
    written.set(name, revision);
  }
  return undefined;
}

export function writeTools(sql: Statements, rows: readonly ToolRow[]): void {
  for (const { definition, version } of rows) {
    sql.putDefinition.run(...definition);
    sql.putVersion.run(...version);
  }
}

/** The first record that is not at the revision its write expects; nothing has been written then. Writes follow each other. */
export function recordConflict(sql: Statements, { at, rows }: RecordJob): Outcome | undefined {
  const written = new Map<string, number>();
  for (const { kind, id, body, expect } of rows) {
    const name = JSON.stringify([kind, id]);
    const revision = written.get(name) ?? Number(sql.findRecord.get(kind, id, at)?.revision ?? 0);
    if (expect !== null && expect !== revision) return ["record", kind, id];
    written.set(name, body === null ? 0 : revision + 1);
  }
  return undefined;
}

/** Writes what `recordConflict` found nothing against, in order. Some that have expired go first, whatever their kind. */
export function writeRecords(sql: Statements, { at, rows }: RecordJob): void {
  sql.forgetExpired.run(at);
  for (const { kind, id, body, expiresAt } of rows) {
    if (body === null) sql.deleteRecord.run(kind, id);
    else sql.putRecord.run(kind, id, body, expiresAt, at);
  }
}

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
