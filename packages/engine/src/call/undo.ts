import { type Failure, type FileEffects, failure } from "@sallyport/protocol";
import { type EventFacts, type EventKind, EventWriter } from "../audit/event.ts";
import type { CallRecord } from "../ports/calls.ts";
import type { Undone } from "../ports/workspace.ts";
import { fileRefusal } from "./file-refusal.ts";
import type { House } from "./house.ts";
import { factsOf } from "./late-close.ts";
import { shortId } from "./short-id.ts";

/** A committed call whose file changes were taken back later. */
export interface UndoneCall {
  callId: string;
  /** What the undoing changed: the call's effects the other way round. */
  effects: FileEffects;
  /** True when every file was proved by hash to be what it was before the call. */
  verified: boolean;
}

/**
 * Takes back what a committed call did to files, when they are still what it left. The request is on record before
 * anything changes; the call's own outcome stays as it was.
 */
export async function undoCall(
  callId: string,
  { by, tenant }: { by: string; tenant?: string },
  house: House,
): Promise<UndoneCall | Failure> {
  const record = await house.store.calls.get(callId);
  if (!record || (tenant !== undefined && record.tenant !== tenant)) {
    return failure("E3917", { message: `There is no call ${callId}.` });
  }
  const problem = notUndoable(record);
  if (problem || !house.isolation) return problem ?? cannot(callId, "this house has no workspaces");
  const facts = undoFacts(record, by, house);
  await note("UNDO_REQUESTED", facts, house);
  const undone = await house.isolation.workspaces.undo(callId);
  if (!undone.ok) return refusal(callId, undone);
  await note("EFFECTS_UNDONE", { ...facts, effectsHash: undone.effects.digest }, house);
  return { callId, effects: undone.effects, verified: undone.verified };
}

function notUndoable({ callId, phase, closing }: CallRecord): Failure | undefined {
  if (phase !== "closed" || closing?.status !== "success") {
    return cannot(callId, "it did not succeed, so it left nothing behind");
  }
  return closing.answer.effects ? undefined : cannot(callId, "it changed no files");
}

function refusal(callId: string, undone: Extract<Undone, { ok: false }>): Failure {
  if (undone.reason === "changed_since") {
    const { message, details } = fileRefusal({ ok: false, conflicts: undone.conflicts });
    return failure("E3111", {
      message: `Call ${callId} is not undone, because files changed since. ${message}`,
      ...(details && { details }),
    });
  }
  return cannot(callId, WHY[undone.reason], { reason: undone.reason });
}

const WHY = {
  unknown: "nothing is kept to undo it with",
  expired: "what it would take to undo it has expired",
  already_undone: "it was undone before",
} as const;

function cannot(callId: string, why: string, details?: { reason: string }): Failure {
  const message = `Call ${callId} cannot be undone: ${why}.`;
  return failure("E3111", { message, ...(details && { details }) });
}

/** Each request has events of its own, so that asking twice is on record twice. */
function undoFacts(record: CallRecord, by: string, house: House): EventFacts {
  const facts = factsOf(record);
  return { ...facts, executionId: `${record.callId}.undo.${shortId(house)}`, note: `undo asked by ${by}` };
}

async function note(kind: EventKind, facts: EventFacts, house: House): Promise<void> {
  const at = { ordinal: kind === "UNDO_REQUESTED" ? 1 : 2, timestamp: house.clock.now() };
  const events = [new EventWriter(facts).write(kind, facts, at)];
  const result = await house.store.commit({ tenant: facts.tenant, events, outbox: [] });
  if (!result.ok) throw new Error(`the record refused the undo (${result.conflict.kind})`);
}
