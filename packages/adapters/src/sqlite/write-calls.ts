import type { SQLOutputValue } from "node:sqlite";
import type { BegunCall, ClosedCall, OpenedCall, Outcome, RunJob, UnitJob } from "./messages.ts";
import type { Statements } from "./statements.ts";

type Row = Record<string, SQLOutputValue>;

/** What the journal holds of the calls a unit begins and closes, before the unit. */
export interface Found {
  begun: Row | undefined;
  closed: Row | undefined;
}

/** Looks up what a unit is about to move on. */
export function findCalls(sql: Statements, [, , , close, , , , , begin]: UnitJob): Found {
  return {
    begun: begin ? sql.findCall.get(begin[0]) : undefined,
    closed: close ? sql.findPhase.get(close[0]) : undefined,
  };
}

/** Whether the unit is of a run that may not write any more. */
export function fenceConflict(sql: Statements, [callId, runId]: [string, string]): Outcome | undefined {
  const found = sql.findRun.get(callId);
  return found?.phase === "executing" && found.run_id === runId ? undefined : ["fenced"];
}

/** Why the call must not be tried again or cancelled: it does not execute. */
export function executingConflict(sql: Statements, callId: string): Outcome | undefined {
  return sql.findPhase.get(callId)?.phase === "executing" ? undefined : ["not_open"];
}

/** Why the call must not begin; it may when it waits or is queued, and its key is nobody else's. */
export function beginConflict(sql: Statements, call: BegunCall, found: Row | undefined): Outcome | undefined {
  const [callId, tenant, agent, key] = call;
  const mayBegin = found?.phase === "waiting" || found?.phase === "queued";
  if (!mayBegin || found.tenant_id !== tenant) return ["not_waiting"];
  const holder = sql.findKey.get(tenant, agent, key ?? found.idempotency_key ?? null)?.invocation_id;
  return holder === undefined || holder === callId ? undefined : ["idempotency", String(holder)];
}

/** Why the call must not be closed; only one that ran may have an outcome nobody knows, and that verdict stands. */
export function closeConflict(
  [, to]: ClosedCall,
  { found, from }: { found: Row | undefined; from: string | null },
): Outcome | undefined {
  const isJudged = found?.phase === "unknown" && from !== "unknown";
  const isOpen = found !== undefined && found.phase !== "closed" && !isJudged;
  const mayBecome = to === "closed" ? isOpen : found?.phase === "executing";
  const isAsExpected = from === null || from === found?.phase;
  return mayBecome && isAsExpected ? undefined : ["not_open"];
}

/** Why the call must not be opened: its id or its key is taken. */
export function openConflict(sql: Statements, call: OpenedCall): Outcome | undefined {
  const [callId, tenant, agent, key] = call;
  if (sql.findPhase.get(callId)) return ["duplicate_call"];
  const existing = key === null ? undefined : sql.findKey.get(tenant, agent, key);
  return existing && ["idempotency", String(existing.invocation_id)];
}

/**
 * Opens, begins and closes as the unit says; what keeps a call from being opened shows only here, and nothing has been
 * written then. Only a call that was queued has a place in the queue to give up.
 */
export function writeCalls(
  sql: Statements,
  job: UnitJob,
  { found, receipt }: { found: Found; receipt: string | null },
): Outcome | undefined {
  const [, , open, close, , , , , begin, , , enqueue, , , , , , run] = job;
  if (open) {
    const { changes, lastInsertRowid } = sql.insertCall.run(...open, receipt);
    if (changes === 0) return whyNotOpened(sql, open);
    if (enqueue) sql.enqueue.run(lastInsertRowid, ...enqueue);
  }
  if (begin) sql.beginCall.run(...begin, receipt);
  if (run) writeRun(sql, run, receipt);
  if (close) sql.closeCall.run(...close, receipt);
  if (begin && found.begun?.phase === "queued") sql.dequeue.run(begin[0]);
  if (close && found.closed?.phase === "queued") sql.dequeue.run(close[0]);
  return undefined;
}

function writeRun(sql: Statements, { rerun, cancel }: RunJob, receipt: string | null): void {
  if (rerun) sql.rerunCall.run(...rerun, receipt);
  if (!cancel) return;
  sql.cancelCall.run(...cancel, receipt);
  sql.insertCancellation.run(cancel[0]);
}

function whyNotOpened(sql: Statements, open: OpenedCall): Outcome {
  const taken = openConflict(sql, open);
  if (taken) return taken;
  throw new Error("a call was not inserted although neither its id nor its key is taken");
}
