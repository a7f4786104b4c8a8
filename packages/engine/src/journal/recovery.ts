import {
  type CallAnswer,
  defined,
  entryOf,
  type Failure,
  failure,
  type JsonValue,
} from "@sallyport/protocol";
import { isUnspent, release, standingAt } from "../approvals/record.ts";
import type { EngineContext } from "../context.ts";
import { claimAll, heldWork } from "../fleet/claim-all.ts";
import type { CallRecord, ListPlace } from "../ports/calls.ts";
import type { UnitOfWork } from "../ports/store.ts";
import type { FileRollback } from "../ports/workspace.ts";
import { NOTHING_RAN } from "./progress.ts";
import { type ClosingContext, closeRecorded, markUnknown, notClosed, type RecordedEnding } from "./unit.ts";

/**
 * Gives every call that no process runs its verdict, and records it: those of processes that are gone, and those that the
 * record gives to this process and that it has not in hand, because the store was away when they began or ended. Runs
 * nothing. A call whose effects never took hold is closed as rolled back; one whose outcome nobody knows waits for a
 * person. A call is judged by the one instance that has claimed it; the former owner, should it still be there, is fenced
 * from then on.
 */
export class Recovery {
  readonly #context: EngineContext;
  /** What was taken back of files since this process has their folder, by call. */
  readonly #files = new Map<string, FileRollback>();
  /** Runs that were claimed from instances that are gone. */
  readonly #orphans = new Set<string>();

  constructor(context: EngineContext) {
    this.#context = context;
  }

  /** With the files of this process's folder, and with calls whose outcome was unknown before. */
  async recover(): Promise<RecoveryVerdict[]> {
    await this.#takeBackFiles();
    const unknown: RecoveryVerdict[] = [];
    for (const record of await unknownCalls(this.#context)) unknown.push(...(await this.#settle(record)));
    return [...unknown, ...(await this.judgeOrphans())];
  }

  /** Calls and reservations of instances that are gone, and calls of this one that it does not run. */
  async judgeOrphans(): Promise<RecoveryVerdict[]> {
    await releaseReservations(this.#context);
    for await (const { runId = "" } of claimAll("orphan", this.#context)) this.#orphans.add(runId);
    return await this.settleHeld();
  }

  /**
   * What the record says this process executes and it has not in hand. A unit of it that is still under way here is
   * waited for; one that the server has already comes first, because it holds the call's row. One that comes later finds
   * another phase and is fenced.
   */
  async settleHeld(): Promise<RecoveryVerdict[]> {
    const { inFlight, unrecorded, membership } = this.#context;
    const verdicts: RecoveryVerdict[] = [];
    const problems: unknown[] = [];
    if (membership.refusal) return verdicts;
    const inHand = [...inFlight.ids(), ...unrecorded.landing()];
    for await (const record of heldWork("executing", this.#context, inHand)) {
      // It has begun since.
      if (inFlight.get(record.callId)) continue;
      try {
        verdicts.push(...((await this.#payOwed(record)) ?? (await this.#settle(record))));
        this.#orphans.delete(record.runId ?? "");
      } catch (error) {
        // One that cannot be written keeps no other from its end.
        problems.push(error);
      }
    }
    if (problems.length > 0) throw problems[0];
    return verdicts;
  }

  /** Files that a run had put in place stay only if its outcome is on record. */
  async #takeBackFiles(): Promise<void> {
    const { isolation, store } = this.#context;
    const taken = await isolation?.workspaces.recover(async (callId, { runId }) => {
      const record = await store.calls.get(callId);
      return record?.closing?.status === "success" && (runId === undefined || record.runId === runId);
    });
    for (const { callId, rollback } of taken ?? []) this.#files.set(callId, rollback);
  }

  /** Sends the end again that the store did not take; undefined when there is none, or it does not fit any more. */
  async #payOwed(record: CallRecord): Promise<RecoveryVerdict[] | undefined> {
    const { store, unrecorded, feeds, clock } = this.#context;
    const { callId, runId = "" } = record;
    const unit = unrecorded.owed({ callId, runId });
    if (!unit) return undefined;
    const isWritten = await this.#send(unit, record);
    unrecorded.settled(callId);
    if (!isWritten || !unit.close) return undefined;
    const { closing } = unit.close;
    feeds.ended(callId, { status: closing?.status ?? "error", at: closing?.closedAt ?? clock.now() });
    return [judge(callId, await store.calls.get(callId))];
  }

  /** False when the store refuses it, or takes any other unit of the call and not this one. Rejects while it takes none. */
  async #send(unit: UnitOfWork, { tenant, callId, runId = "" }: CallRecord): Promise<boolean> {
    const { store, errors } = this.#context;
    try {
      return (await store.commit(unit)).ok;
    } catch {
      await store.commit({ tenant, fence: { callId, runId } });
    }
    try {
      return (await store.commit(unit)).ok;
    } catch (error) {
      errors.report({ error, code: "E3801", callId, stage: "record outcome" });
      return false;
    }
  }

  /** Nothing when the call has moved on meanwhile. */
  async #settle(record: CallRecord): Promise<RecoveryVerdict[]> {
    const verdict = this.#verdictOn(record);
    if (verdict.verdict === "never_started") {
      if (!this.#hasFolder(record))
        return await this.#leave(record, "only the process with its folder can take its files back");
      const known = this.#undoneRun(record);
      const error = known?.error ?? this.#errorOf(record);
      const end = { error, files: this.#files.get(record.callId), hasStarted: known?.hasStarted };
      const closed = await closeAsUndone(record, end, this.#context);
      if (closed === "left")
        return await this.#leave(record, "it left state or files behind although it never committed");
      return closed === "closed" ? [verdict] : [];
    }
    if (verdict.verdict === "outcome_unknown") return await this.#leave(record, verdict.reason);
    return [verdict];
  }

  #verdictOn(record: CallRecord): RecoveryVerdict {
    const { callId, stagedIn } = record;
    if (!this.#isOwn(record)) return judge(callId, record);
    if (this.#undoneRun(record))
      return { verdict: "never_started", callId, reason: "nothing of it was in the store when it ended" };
    const reason = "its end could not be recorded, and its files are taken back at the next start only";
    if (stagedIn !== undefined) return { verdict: "outcome_unknown", callId, record, reason };
    return judge(callId, record);
  }

  /** This process has begun it, and is still there. */
  #isOwn({ phase, owner, runId = "" }: CallRecord): boolean {
    return phase === "executing" && owner === this.#context.owner && !this.#orphans.has(runId);
  }

  /** What this process knows of a run that changed nothing. */
  #undoneRun(record: CallRecord) {
    return this.#isOwn(record) ? this.#context.unrecorded.undoneRun(record.runId) : undefined;
  }

  #errorOf(record: CallRecord): Failure {
    if (!this.#isOwn(record)) {
      const message = "The process ended while the call ran; nothing of it took effect.";
      return failure("E3107", { message, retryable: true });
    }
    return failure("E3801", {
      message: "The end of the call could not be recorded; nothing of it took effect.",
    });
  }

  #hasFolder({ stagedIn }: CallRecord): boolean {
    return stagedIn === undefined || stagedIn === this.#context.isolation?.workspaces.id;
  }

  async #leave(record: CallRecord, reason: string): Promise<RecoveryVerdict[]> {
    const { callId, phase } = record;
    if (phase === "executing" && !(await markUnknown(record, this.#context))) return [];
    return [{ verdict: "outcome_unknown", callId, record, reason }];
  }
}

/** What an instance that is gone had reserved and not spent has not run: the yes is good again. */
async function releaseReservations(context: EngineContext): Promise<void> {
  const { store, clock } = context;
  for await (const record of claimAll("reservation", context)) {
    const approvals = [{ record: release(record, clock.now()), expect: record.revision }];
    // A refusal means that somebody else has just moved it on.
    await store.commit({ tenant: record.tenant, approvals });
  }
}

/** Oldest first. */
async function unknownCalls({ store }: EngineContext): Promise<CallRecord[]> {
  const found: CallRecord[] = [];
  const records = readAll<CallRecord, ListPlace>(
    ({ limit, from }) => store.calls.list({ phase: "unknown", limit, ...defined({ before: from }) }),
    ({ startedAt: at, callId: id }) => ({ at, id }),
  );
  for await (const record of records) found.push(record);
  return found.reverse();
}

interface Undone {
  error: Failure;
  files: FileRollback | undefined;
  /** It was reached, and is on record as aborted. */
  hasStarted: boolean | undefined;
}

/** `left`: the state or the files show traces of the call, which then cannot be called undone. */
async function closeAsUndone(
  record: CallRecord,
  { error, files, hasStarted }: Undone,
  context: EngineContext,
): Promise<"closed" | "left" | "moved_on"> {
  if (files && !files.verified) return "left";
  const left = await context.store.state.writtenBy(
    { tenant: record.tenant, tool: record.tool },
    record.callId,
  );
  if (left > 0) return "left";
  const restored = files && { files: { verified: true, hash: files.hash, discarded: files.discarded } };
  const proof = { ...NOTHING_RAN, ...restored };
  const end: RecordedEnding = hasStarted
    ? { states: ["ROLLED_BACK"], error, proof }
    : { states: ["ABORTED", "ROLLED_BACK"], error, proof, neverStarted: true };
  const closed = await closeRecorded(record, end, context);
  return closed ? "closed" : "moved_on";
}

/** What a person found out about a call whose outcome was unknown. */
export interface ManualClose {
  callId: string;
  as: "completed" | "rolled_back";
  by: string;
  note: string;
  result?: JsonValue;
}

const WAIT_FOR_VERDICT =
  "Ask again in a few seconds: a process has the call. Once none runs it, it gets its end or becomes unknown by itself.";

/** Closes a call by a person's decision. Refuses a call whose outcome is not unknown. */
export async function closeByPerson(
  word: ManualClose,
  context: EngineContext,
): Promise<CallAnswer | Failure> {
  const record = await context.store.calls.get(word.callId);
  if (!record) return failure("E3917", { message: `There is no call ${word.callId}.` });
  if (record.phase !== "unknown") {
    const message = `Call ${word.callId} is ${record.phase}; only an unknown outcome can be closed by a person.`;
    return failure("E3918", { message, ...(record.phase === "executing" && { advice: WAIT_FOR_VERDICT }) });
  }
  const note = `${word.by}: ${word.note}`.toWellFormed();
  const answer =
    word.as === "completed"
      ? await closeRecorded(record, { states: ["COMPLETED"], result: word.result ?? null, note }, context)
      : await closeRecorded(record, { ...UNDONE, note }, context);
  return answer ?? notClosed("somebody else has closed it");
}

/** How the person knows it is for the record: the caller is told that it was not done. */
const UNDONE: RecordedEnding = {
  states: ["ABORTED", "ROLLED_BACK"],
  error: failure("E3906", { message: "A person closed the call: it was not done." }),
  proof: NOTHING_RAN,
};

/** What can be said of a call after the process that ran it is gone. Nothing is ever run again by itself (D-4). */
export type RecoveryVerdict =
  /** Nothing of it took effect: it has no intent, or all it could change was a transaction that never committed. */
  | { verdict: "never_started"; callId: string; reason: string }
  /** Its outcome is on record and will be given again to whoever asks. */
  | { verdict: "completed"; callId: string; record: CallRecord }
  /** It was running and may have changed the world; a person has to find out and close it. */
  | { verdict: "outcome_unknown"; callId: string; record: CallRecord; reason: string };

/** Judges a call from what the journal holds about it. `undefined` means the journal never heard of it. */
export function judge(callId: string, record: CallRecord | undefined): RecoveryVerdict {
  if (!record) return { verdict: "never_started", callId, reason: "the journal holds no intent for it" };
  if (record.phase === "waiting") {
    return { verdict: "never_started", callId, reason: "it waits for a person's approval" };
  }
  if (record.phase === "queued") {
    return { verdict: "never_started", callId, reason: "it is queued and has not run" };
  }
  if (record.phase === "closed") return { verdict: "completed", callId, record };
  if (record.sideEffects !== "external") {
    const reason = "it could change only transactional state, and its transaction never committed";
    return { verdict: "never_started", callId, reason };
  }
  const reason = "it ran, its end is not on record, and its effects are outside Sallyport's reach";
  return { verdict: "outcome_unknown", callId, record, reason };
}

/**
 * Whether the call could still begin by itself: it is queued, or waits by an unspent yes. Rejects when the store cannot
 * be asked.
 */
export async function isStillRunnable(
  callId: string,
  { store, clock }: Pick<EngineContext, "store" | "clock">,
): Promise<boolean> {
  const record = await store.calls.get(callId);
  if (record?.phase === "queued") return true;
  if (record?.phase !== "waiting") return false;
  const approval = await store.approvals.ofCall(callId);
  return approval !== undefined && isUnspent(standingAt(approval, clock.now()));
}

/** Ends a call that was accepted and has not run; undefined when it is not queued (any more). */
export async function endQueued(
  callId: string,
  error: Failure,
  context: ClosingContext,
): Promise<CallAnswer | undefined> {
  const record = await context.store.calls.get(callId);
  if (record?.phase !== "queued") return undefined;
  const { failureClass, status } = entryOf(error);
  const end: RecordedEnding =
    failureClass === "AuthorizationError"
      ? { states: ["DENIED"], error }
      : failureClass === "ValidationError" && status !== "cancelled"
        ? { states: ["FAILED"], error }
        : { states: ["ABORTED", "ROLLED_BACK"], error, proof: NOTHING_RAN };
  return await closeRecorded(record, end, context);
}

const PAGE = 200;

/** Every item of a stored list, read page by page: `read` gets the place of the last item seen, as `placeOf` says it. */
async function* readAll<Item, Place>(
  read: (page: { limit: number; from: Place | undefined }) => Promise<readonly Item[]>,
  placeOf: (item: Item) => Place,
): AsyncGenerator<Item> {
  let from: Place | undefined;
  for (;;) {
    const items = await read({ limit: PAGE, from });
    yield* items;
    const last = items.at(-1);
    if (!last || items.length < PAGE) return;
    from = placeOf(last);
  }
}
