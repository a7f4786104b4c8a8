import { type CallAnswer, type Failure, failure, isTerminal, SallyportError } from "@sallyport/protocol";
import { reasonOf } from "../journal/unanswered.ts";
import type { CommitResult, UnitOfWork } from "../ports/store.ts";
import type { ResolvedTool } from "../registry/index.ts";
import { failureAnswer, withReceipt } from "./answer.ts";
import type { Attempt } from "./attempt.ts";
import { closingUnit } from "./closing-unit.ts";
import type { House } from "./house.ts";
import { dropShown } from "./preview.ts";
import type { Ending } from "./steps.ts";
import { waitingUnit } from "./waiting-unit.ts";

/** Puts an unsuccessful end on record and answers with it. A success was recorded by its commit. */
export async function conclude(ending: Ending, attempt: Attempt, house: House): Promise<CallAnswer> {
  if (ending.answer) return ending.answer;
  const { life } = ending;
  const error = errorOf(ending) ?? failure("E3900", { message: "A completed call has no answer." });
  const answer = failureAnswer({ attempt, trail: life.trail, completedAt: house.clock.now() }, error);
  const { waits } = attempt;
  if (waits?.for === "approval" && attempt.isStillWaiting)
    attempt.approval ??= await house.store.approvals.get(waits.approvalId);
  const events = attempt.takeEvents();
  const executed = attempt.ran;
  const { tool } = attempt;
  const unit: UnitOfWork = attempt.isStillWaiting
    ? waitingUnit({ attempt, answer, error, events }, house)
    : tool && (isTerminal(life.state) || changedNothing(tool, error))
      ? closingUnit({ attempt, tool, answer, events, executed }, house)
      : unknownUnit(attempt, events);
  const recorded = await record(unit, { attempt, answer }, house);
  if (attempt.isStillWaiting && unit.close && attempt.approval) await dropShown(attempt.approval, house);
  return recorded;
}

/** Refused before a lifecycle began: the event is kept, there is no call to journal. */
export async function concludeRefusal(error: Failure, attempt: Attempt, house: House): Promise<CallAnswer> {
  const now = house.clock.now();
  attempt.facts.error = error;
  attempt.record("REFUSED", now);
  const answer = failureAnswer({ attempt, trail: [], completedAt: now }, error);
  const unit: UnitOfWork = { tenant: attempt.facts.tenant, events: attempt.takeEvents(), outbox: [] };
  return await record(unit, { attempt, answer }, house);
}

/** Refused as well, but the journal holds it as waiting: call and question end together. */
export async function concludeWaiting(error: Failure, attempt: Attempt, house: House): Promise<CallAnswer> {
  const now = house.clock.now();
  attempt.facts.error = error;
  attempt.record("REFUSED", now);
  const answer = failureAnswer({ attempt, trail: [], completedAt: now }, error);
  const unit = waitingUnit({ attempt, answer, error, events: attempt.takeEvents() }, house);
  return await record(unit, { attempt, answer }, house);
}

/** Something broke that should not have: the caller gets an error, and what may have happened is left for a person. */
export async function concludeDefect(thrown: unknown, attempt: Attempt, house: House): Promise<CallAnswer> {
  const error = thrown instanceof SallyportError ? thrown.failure : failure("E3900");
  house.errors.report({
    error: thrown,
    code: error.code,
    callId: attempt.callId,
    tool: attempt.facts.toolId,
  });
  const answer = failureAnswer({ attempt, trail: attempt.visits, completedAt: house.clock.now() }, error);
  const events = attempt.takeEvents();
  // Nothing has run: the call keeps waiting, and what was reserved falls back by itself.
  const unit = attempt.isStillWaiting
    ? { tenant: attempt.facts.tenant, events, outbox: [] }
    : unknownUnit(attempt, events);
  return await record(unit, { attempt, answer }, house);
}

/** Why the execution did not succeed; undefined when it did. */
export function errorOf({ life, error }: Ending): Failure | undefined {
  if (error) return error;
  if (life.state === "COMPLETED") return undefined;
  return life.state === "ABORTED" ? life.reason : life.error;
}

/** Then nobody has to find out anything; unless it was seen to have left something behind all the same (E3912). */
function changedNothing({ conduct }: ResolvedTool, { code }: Failure): boolean {
  return conduct.sideEffects === "none" && code !== "E3912";
}

function unknownUnit(attempt: Attempt, events: string[]): UnitOfWork {
  const close = { callId: attempt.callId, phase: "unknown" as const };
  return { tenant: attempt.facts.tenant, ...(attempt.journaled && { close }), events, outbox: [] };
}

async function record(
  unit: UnitOfWork,
  { attempt, answer }: { attempt: Attempt; answer: CallAnswer },
  house: House,
): Promise<CallAnswer> {
  let result: CommitResult;
  const publishing = attempt.span?.open("event.publish");
  try {
    result = await house.store.commit(unit);
    publishing?.end(result.ok ? { ok: true } : { ok: false, code: "E3801" });
  } catch (error) {
    publishing?.end({ ok: false, code: "E3801" });
    house.errors.report({ error, code: "E3801", callId: attempt.callId, stage: "record outcome" });
    return unrecorded(answer, reasonOf(error) ?? "the store could not be written");
  }
  if (result.ok) return withReceipt(answer, attempt, result.links);
  // A commit given up as lost may have landed after all: then the journal's word counts.
  const landed = await house.store.calls.get(attempt.callId).catch(() => undefined);
  const isOurs =
    landed?.owner === house.owner &&
    landed.startedAt === attempt.startedAt &&
    landed.tenant === attempt.facts.tenant;
  return (isOurs ? landed?.closing?.answer : undefined) ?? unrecorded(answer, result.conflict.kind);
}

/** The call failed anyway; that its end is not on record has to be said too. */
function unrecorded(answer: CallAnswer, why: string): CallAnswer {
  const warning = { code: "E3801", message: `This ending is not on record (${why}).` };
  return { ...answer, warnings: [...answer.warnings, warning] };
}
