import { type Failure, failure, isFailure, type JsonValue } from "@sallyport/protocol";
import { ask } from "../approve/ask.ts";
import { approvalDigest } from "../approve/digest.ts";
import { encodeOrder, type WaitingOrder } from "../approve/order.ts";
import { voided } from "../approve/settle.ts";
import { fillSummary } from "../approve/summary.ts";
import type { ApprovalCause, ApprovalRecord, ApprovalWrite } from "../ports/approvals.ts";
import type { Conflict, UnitOfWork } from "../ports/store.ts";
import { forDecision } from "../redact/redact.ts";
import { describeCall, summaryOf } from "../redact/summarise.ts";
import { intentOf } from "./call-record.ts";
import type { House } from "./house.ts";
import { orderOf } from "./kept-order.ts";
import type { Weighed } from "./stages/authorise.ts";

/** What an approval of this call, as it is now, would be an approval of. */
export function digestOf(at: Weighed): string {
  return approvalDigest(approvedBy(at));
}

function approvedBy({ attempt, tool, decision }: Weighed) {
  return {
    tool: tool.manifest.id,
    version: tool.manifest.version,
    operation: tool.operationName,
    inputHash: attempt.facts.inputHash,
    manifestHash: tool.record.manifestHash,
    policyVersion: decision.policyVersion,
    caller: attempt.request.caller,
    ...(attempt.held && { shown: attempt.held.digest }),
  };
}

/**
 * One line about the call for the person: the tool's own, or one made from its arguments. The tool describes the
 * checked arguments it would run with (FR-APR-01), and a tool that fails to is not asked about (FR-APR-06).
 */
export function summaryFor({ tool, life }: Weighed): string | Failure {
  const { implementation, operationName: operation, manifest } = tool;
  const own = implementation?.kind === "inline" ? implementation.summaries?.[operation] : undefined;
  if (own) return ownSummary(own, life.input);
  const template = tool.operation.summary;
  if (template === undefined) return describeCall({ tool: manifest.id, operation, input: life.input });
  const filled = fillSummary(template, forDecision.redact(life.input));
  return typeof filled === "string" ? summaryOf(filled) : filled;
}

function ownSummary(describe: (input: JsonValue) => string, input: JsonValue): string | Failure {
  try {
    const text: unknown = describe(structuredClone(input));
    if (typeof text === "string") return summaryOf(text);
  } catch {
    // The message may hold what must not be shown; that it failed is all there is to say.
  }
  const message = "The tool could not describe the call, so nobody can be asked about it.";
  return failure("E3211", { message, advice: "Correct the summary function of the tool." });
}

/** Why a person is asked, and what the call would change, where it was tried out. */
interface Cause {
  because: ApprovalCause;
  effects?: JsonValue | undefined;
}

/** Puts the call into the journal as waiting, together with the question. */
export async function askFirst(
  at: Weighed,
  { because, effects }: Cause,
  house: House,
): Promise<ApprovalRecord | Failure> {
  const { attempt, tool } = at;
  const record = questionOf(at, { because, effects, round: 1 }, house);
  if (isFailure(record)) return record;
  const { idempotencyKey } = attempt.request;
  const result = await tryCommit(at, house, {
    open: {
      ...intentOf(attempt, tool, house),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      phase: "waiting",
    },
    approvals: [{ record, order: encodeOrder(waitingOrder(at)) }],
  });
  if (result === undefined) return announced(record, house);
  return refusal(result);
}

/** Voids the old question and puts a new one; undefined when somebody else changed the old one meanwhile. */
export async function askAgain(
  at: Weighed,
  { record: old, because, effects }: Cause & { record: ApprovalRecord },
  house: House,
): Promise<ApprovalRecord | Failure | undefined> {
  const reason = "the arguments, the tool, the policy or the caller changed after it was asked";
  const past = voided(old, { at: house.clock.now(), reason });
  if (isFailure(past)) return undefined;
  const record = questionOf(at, { because, effects, round: old.round + 1 }, house);
  if (isFailure(record)) return record;
  const writes: ApprovalWrite[] = [
    { record: past, expect: old.revision, order: null },
    { record, order: encodeOrder(waitingOrder(at)) },
  ];
  const conflict = await tryCommit(at, house, { approvals: writes });
  if (conflict) return undefined;
  at.attempt.approval = record;
  return announced(record, house);
}

function questionOf(
  at: Weighed,
  { because, effects, round }: Cause & { round: number },
  house: House,
): ApprovalRecord | Failure {
  const { attempt, tool, decision, life } = at;
  const summary = summaryFor(at);
  if (typeof summary !== "string") return summary;
  const input: JsonValue = forDecision.redact(life.input);
  return ask(
    {
      ...approvedBy(at),
      approvalId: house.ids.next(),
      callId: attempt.callId,
      because,
      round,
      decision,
      risk: tool.conduct.risk,
      summary,
      input,
      ...(effects !== undefined && { effects }),
      at: house.clock.now(),
    },
    house.approvals,
  );
}

function waitingOrder({ attempt, tool, life }: Weighed): WaitingOrder {
  return orderOf({ attempt, tool, input: life.input, attempts: attempt.number });
}

async function tryCommit(
  { attempt }: Weighed,
  house: House,
  unit: Pick<UnitOfWork, "open" | "approvals">,
): Promise<Conflict | undefined> {
  const approval = unit.approvals?.at(-1)?.record;
  if (approval) {
    attempt.facts.approval = { approvalId: approval.approvalId, by: [], digest: approval.digest };
  }
  attempt.record("APPROVAL_REQUESTED", house.clock.now());
  const events = attempt.takeEvents();
  const result = await house.store.commit({ ...unit, tenant: attempt.facts.tenant, events, outbox: [] });
  if (result.ok) return undefined;
  attempt.returnEvents(events);
  return result.conflict;
}

function announced(record: ApprovalRecord, house: House): ApprovalRecord {
  house.bus.publish("approvals:updates", { approvalId: record.approvalId, state: record.standing.state });
  return record;
}

function refusal(conflict: Conflict): Failure {
  if (conflict.kind === "duplicate_call") return failure("E3905");
  if (conflict.kind === "idempotency") {
    return failure("E3904", { details: { callId: conflict.existing.callId } });
  }
  return failure("E3908", { message: `The journal refused the question (${conflict.kind}).` });
}
