import { type Failure, type FileEffects, failure } from "@sallyport/protocol";
import type { EventFacts, EventKind } from "../audit/index.ts";
import type { EngineContext } from "../context.ts";
import { fileRefusal } from "../journal/conflicts.ts";
import { auditOfCall, progressOf } from "../journal/progress.ts";
import { uniqueSuffix } from "../passage/attempt.ts";
import type { CallRecord } from "../ports/calls.ts";
import type { Undone } from "../ports/workspace.ts";

type UndoContext = Pick<EngineContext, "store" | "isolation" | "clock" | "ids">;

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
  context: UndoContext,
): Promise<UndoneCall | Failure> {
  const record = await context.store.calls.get(callId);
  if (!record || (tenant !== undefined && record.tenant !== tenant)) {
    return failure("E3917", { message: `There is no call ${callId}.` });
  }
  const problem = notUndoable(record);
  if (problem || !context.isolation) return problem ?? cannot(callId, "this engine has no workspaces");
  const facts = undoFacts(record, by, context);
  await note("UNDO_REQUESTED", facts, context);
  const undone = await context.isolation.workspaces.undo(callId);
  if (!undone.ok) return refusal(callId, undone);
  await note("EFFECTS_UNDONE", { ...facts, effectsHash: undone.effects.digest }, context);
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
  unknown: "nothing is kept on this machine to undo it with",
  expired: "what it would take to undo it has expired",
  already_undone: "it was undone before",
} as const;

function cannot(callId: string, why: string, details?: { reason: string }): Failure {
  const message = `Call ${callId} cannot be undone: ${why}.`;
  return failure("E3111", { message, ...(details && { details }) });
}

/** Each request has events of its own, so that asking twice is on record twice. */
function undoFacts(record: CallRecord, by: string, context: UndoContext): EventFacts {
  const executionId = `${record.callId}.undo.${uniqueSuffix(context)}`;
  return { ...progressOf(record), executionId, note: `undo asked by ${by}` };
}

async function note(kind: EventKind, facts: EventFacts, context: UndoContext): Promise<void> {
  const at = { ordinal: kind === "UNDO_REQUESTED" ? 1 : 2, at: context.clock.now() };
  const audit = auditOfCall([kind], facts, at);
  const result = await context.store.commit({ tenant: facts.call.tenant, audit });
  if (!result.ok) throw new Error(`the record refused the undo (${result.conflict.kind})`);
}
