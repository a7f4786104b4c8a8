import { type CallAnswer, type Failure, failure, type JsonValue } from "@sallyport/protocol";
import { release } from "../approve/settle.ts";
import { judge, type Verdict } from "../journal/recover.ts";
import type { CallRecord } from "../ports/calls.ts";
import type { FileRollback } from "../ports/workspace.ts";
import type { House } from "./house.ts";
import { closeLate, markUnknown } from "./late-close.ts";

const PAGE = 200;

/**
 * Gives every call that an earlier process left open its verdict, and records it. Runs nothing. A call whose effects
 * never took hold is closed as rolled back; one whose outcome nobody knows waits for a person.
 */
export async function recover(house: House): Promise<Verdict[]> {
  await releaseReservations(house);
  const files = await takeBackFiles(house);
  const verdicts: Verdict[] = [];
  for (const record of await leftOpen(house)) {
    verdicts.push(await settle(record, files.get(record.callId), house));
  }
  return verdicts;
}

/** Files that a call had put in place stay only if its outcome is on record. */
async function takeBackFiles({ isolation, store }: House): Promise<Map<string, FileRollback>> {
  const isDone = async (callId: string) => (await store.calls.get(callId))?.closing?.status === "success";
  const taken = (await isolation?.workspaces.recover(isDone)) ?? [];
  return new Map(taken.map(({ callId, rollback }) => [callId, rollback]));
}

async function settle(record: CallRecord, files: FileRollback | undefined, house: House): Promise<Verdict> {
  const verdict = judge(record.callId, record);
  if (verdict.verdict === "never_started" && (await closeAsUndone(record, files, house))) return verdict;
  if (record.phase === "executing") await markUnknown(record, house);
  if (verdict.verdict !== "never_started") return verdict;
  return {
    verdict: "outcome_unknown",
    callId: record.callId,
    record,
    reason: "it left state or files behind although it never committed",
  };
}

/** What an earlier process had reserved and not spent has not run: the yes is good again. */
async function releaseReservations(house: House): Promise<void> {
  const { store, clock, owner } = house;
  for (const record of await store.approvals.list({ states: ["reserved"], limit: PAGE })) {
    if (record.standing.state !== "reserved" || record.standing.owner === owner) continue;
    const approvals = [{ record: release(record, clock.now()), expect: record.revision }];
    // A refusal means that somebody else has just moved it on.
    await store.commit({ tenant: record.tenant, approvals, events: [], outbox: [] });
  }
}

async function leftOpen(house: House): Promise<CallRecord[]> {
  const found: CallRecord[] = [];
  for (const phase of ["executing", "unknown"] as const) {
    let page: CallRecord[] = [];
    do {
      const before = page.at(-1)?.callId;
      page = await house.store.calls.list({ phase, limit: PAGE, ...(before !== undefined && { before }) });
      found.push(...page.filter((record) => phase === "unknown" || record.owner !== house.owner));
    } while (page.length === PAGE);
  }
  return found.reverse();
}

/** False when the state or the files show traces of the call, which then cannot be called undone. */
async function closeAsUndone(
  record: CallRecord,
  files: FileRollback | undefined,
  house: House,
): Promise<boolean> {
  if (files && !files.verified) return false;
  const left = await house.store.state.writtenBy({ tenant: record.tenant, tool: record.tool }, record.callId);
  if (left > 0) return false;
  const message = "The process ended while the call ran; nothing of it took effect.";
  const error = failure("E3107", { message, retryable: true });
  const restored = files && { files: { verified: true, hash: files.hash, discarded: files.discarded } };
  const proof = { verified: true, snapshotHash: "", discardedMutations: 0, ...restored };
  await closeLate(record, { states: ["ABORTED", "ROLLED_BACK"], error, proof }, house);
  return true;
}

/** What a person found out about a call whose outcome was unknown. */
export interface PersonsWord {
  callId: string;
  as: "completed" | "rolled_back";
  by: string;
  note: string;
  result?: JsonValue;
}

/** Closes a call on a person's word. Refuses one that is not waiting for it. */
export async function closeByPerson(word: PersonsWord, house: House): Promise<CallAnswer | Failure> {
  const record = await house.store.calls.get(word.callId);
  if (!record) return failure("E3917", { message: `There is no call ${word.callId}.` });
  if (record.phase !== "unknown") {
    const message = `Call ${word.callId} is ${record.phase}; only an unknown outcome can be closed by a person.`;
    return failure("E3918", { message });
  }
  const note = `${word.by}: ${word.note}`.toWellFormed();
  if (word.as === "completed") {
    return await closeLate(record, { states: ["COMPLETED"], result: word.result ?? null, note }, house);
  }
  const error = failure("E3906", { message: `Closed by a person as not done: ${word.note}` });
  const proof = { verified: true, snapshotHash: "", discardedMutations: 0 };
  return await closeLate(record, { states: ["ABORTED", "ROLLED_BACK"], error, proof, note }, house);
}
