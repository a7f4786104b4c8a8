import { type Failure, failure, isFailure, type JsonValue } from "@sallyport/protocol";
import type { EngineContext } from "../context.ts";
import { conflictFailure } from "../journal/conflicts.ts";
import { intentOf } from "../journal/unit.ts";
import type { Authorised } from "../passage/authorise.ts";
import { Stop } from "../passage/passage.ts";
import { type Allowed, ApprovalPending, abortBeforeStart, deny, type Ending } from "../passage/steps.ts";
import type { ApprovalCause, ApprovalRecord } from "../ports/approvals.ts";
import type { Conflict, UnitOfWork } from "../ports/store.ts";
import { forDecision } from "../redact/redact.ts";
import { encodeOrder } from "./order.ts";
import { discardPreview, previewEffects } from "./preview.ts";
import { approvalDigest, ask, isFinal, isUnspent, onNewest, reserve, standingAt, voided } from "./record.ts";
import { summarise } from "./summary.ts";

type Next = Allowed | ApprovalPending | Ending;

/** Asks a person where that is due. A need for approval is never waived, and an answer is good for this call alone. */
export function approve(at: Authorised, context: EngineContext): Next | Promise<Next> {
  const { attempt } = at;
  if (attempt.signal.aborted) return abortBeforeStart(at, attempt.violation ?? failure("E3906"));
  const because = approvalCause(at);
  const { waits } = attempt;
  if (waits?.for === "approval") return useApproval(at, { approvalId: waits.approvalId, because }, context);
  if (!because) return allow(at);
  if (waits) return deny(at, neededTooLate(at, because));
  if (attempt.request.onApproval === "deny") return deny(at, nobodyToAsk(at, because));
  return askFirst(at, because, context);
}

/** From this security level on a person verifies each call, whatever allows it (MCX-8). */
const VERIFIED_LEVEL = 8;

/** Why a person has to be asked about the call; undefined when nobody has to be. */
export function approvalCause({
  attempt,
  tool,
  decision,
}: Pick<Authorised, "attempt" | "tool" | "decision">): ApprovalCause | undefined {
  if (tool.traits.requiresApproval || tool.manifest.securityLevel >= VERIFIED_LEVEL) return "tool";
  if (decision.outcome === "ask") return "policy";
  return attempt.request.requireApproval ? "caller" : undefined;
}

function allow({ attempt, progress, tool, life }: Authorised): Allowed {
  return { attempt, progress, tool, input: life.input, life: life.authorized(progress) };
}

async function askFirst(at: Authorised, because: ApprovalCause, context: EngineContext): Promise<Next> {
  const asked = await requestApproval(at, { because }, context);
  if (asked instanceof Stop) return asked;
  const { callId } = at.attempt;
  return deny(at, conflictFailure(asked, { callId, what: "question", at: context.clock.now() }));
}

/** The call has waited: it goes on only by an unspent yes to exactly what it is now. */
async function useApproval(
  given: Authorised,
  { approvalId, because }: { approvalId: string; because: ApprovalCause | undefined },
  context: EngineContext,
): Promise<Next> {
  const next = await onNewest(approvalId, context.store.approvals, async (record) => {
    const at = { ...given, progress: { ...given.progress, question: record } };
    const pending = () => new ApprovalPending(record, at.progress);
    const standing = standingAt(record, context.clock.now());
    if (isFinal(standing.state)) return pending();
    const isForThisCall = digestOf(at) === record.digest;
    if (!because && !(isUnspent(standing) && isForThisCall)) return await allowAnew(at, record, context);
    if (standing.state === "reserved") return pending();
    if (!isForThisCall) {
      const request = { because: because ?? record.because, replaces: record };
      const asked = await requestApproval(at, request, context);
      return asked instanceof Stop ? asked : undefined;
    }
    return standing.state === "pending" ? pending() : await spend(at, record, context);
  });
  return isFailure(next) ? deny(given, next) : next;
}

/** Nobody has to be asked any more: the call runs as it is now, and what was previewed under the question is dropped. */
async function allowAnew(at: Authorised, record: ApprovalRecord, context: EngineContext): Promise<Allowed> {
  await discardPreview(record, context);
  return allow({ ...at, progress: { ...at.progress, held: undefined } });
}

/** Reserves the yes for this attempt; undefined when somebody else changed the record meanwhile. */
async function spend(
  at: Authorised,
  record: ApprovalRecord,
  { store, clock, owner, approvals: { leaseMs } }: EngineContext,
): Promise<Allowed | ApprovalPending | undefined> {
  const reserved = reserve(record, { owner, at: clock.now(), leaseMs, digest: digestOf(at) });
  if (isFailure(reserved)) return new ApprovalPending(record, at.progress);
  const approvals = [{ record: reserved, expect: record.revision }];
  const result = await store.commit({ tenant: record.tenant, approvals, events: [], outbox: [] });
  if (!result.ok) return undefined;
  const { approvalId, digest, votes } = reserved;
  const approval = { approvalId, by: votes.map(({ by }) => by), digest };
  return allow({ ...at, progress: { ...at.progress, question: reserved, approval } });
}

interface Request {
  because: ApprovalCause;
  /** The question whose answer is void: the call is not what it was about any more. */
  replaces?: ApprovalRecord;
}

/** Previews the call where that is due, then asks. A conflict says why the question could not be put on record. */
async function requestApproval(
  given: Authorised,
  { because, replaces }: Request,
  context: EngineContext,
): Promise<ApprovalPending | Ending | Conflict> {
  const round = (replaces?.round ?? 0) + 1;
  // What an earlier question showed says nothing about the call as it is now.
  const unseen = { ...given, progress: { ...given.progress, held: undefined } };
  const preview = await previewEffects(unseen, { round }, context);
  const at = { ...unseen, progress: preview.progress };
  if (preview.error) return abortBeforeStart(at, preview.error);
  const question = questionOf(at, { because, round, effects: preview.effects }, context);
  const stop = isFailure(question)
    ? deny(at, question)
    : await putOnRecord(at, { question, replaces }, context);
  const isAsked = stop instanceof ApprovalPending;
  const outdated = isAsked ? replaces : { callId: at.attempt.callId, round };
  if (outdated) await discardPreview(outdated, context);
  return stop;
}

/** Everything an approval of this call, as it is now, would be an approval of. */
function approvedBy({ attempt, progress, tool, decision }: Authorised) {
  return {
    tool: tool.manifest.id,
    version: tool.manifest.version,
    operation: tool.operationName,
    inputHash: progress.inputHash,
    manifestHash: tool.record.manifestHash,
    policyVersion: decision.policyVersion,
    caller: attempt.request.caller,
    shown: progress.held?.digest,
  };
}

function digestOf(at: Authorised): string {
  return approvalDigest(approvedBy(at));
}

function questionOf(
  at: Authorised,
  { because, round, effects }: { because: ApprovalCause; round: number; effects: JsonValue | undefined },
  { ids, clock, approvals: rules }: EngineContext,
): ApprovalRecord | Failure {
  const { attempt, tool, decision, life } = at;
  const summary = summarise(tool, life.input);
  if (typeof summary !== "string") return summary;
  return ask(
    {
      ...approvedBy(at),
      approvalId: ids.next(),
      callId: attempt.callId,
      because,
      round,
      decision,
      risk: tool.traits.risk,
      summary,
      input: forDecision.redact(life.input),
      effects,
      at: clock.now(),
    },
    rules,
  );
}

interface Asking {
  question: ApprovalRecord;
  replaces: ApprovalRecord | undefined;
}

async function putOnRecord(
  at: Authorised,
  { question, replaces }: Asking,
  context: EngineContext,
): Promise<ApprovalPending | Conflict> {
  const { attempt } = at;
  const { approvalId, digest, standing } = question;
  const unit = questionUnit(at, { question, replaces }, context);
  if (!unit) return { kind: "approval", approvalId };
  const progress = {
    ...at.progress,
    approval: { approvalId, by: [], digest },
    ...(replaces && { question }),
  };
  const events = attempt.log.bodies({ kind: "APPROVAL_REQUESTED", at: context.clock.now(), progress });
  const result = await context.store.commit({ ...unit, tenant: attempt.call.tenant, events, outbox: [] });
  if (!result.ok) return result.conflict;
  attempt.log.stored(events.length);
  context.bus.publish("approvals:updates", { approvalId, state: standing.state });
  return new ApprovalPending(question, progress);
}

/**
 * The first question opens the call in the journal, as waiting; a later one takes the place of the one it voids.
 * Undefined when that one is settled by now.
 */
function questionUnit(
  { attempt, progress, tool, life }: Authorised,
  { question, replaces }: Asking,
  context: EngineContext,
): Pick<UnitOfWork, "open" | "approvals"> | undefined {
  const order = encodeOrder(attempt, { progress, tool, input: life.input, attempts: progress.number - 1 });
  const asked = { record: question, order };
  if (!replaces) {
    const { idempotencyKey } = attempt.request;
    const key = idempotencyKey !== undefined && { idempotencyKey };
    return { open: { ...intentOf(attempt, tool, context), ...key, phase: "waiting" }, approvals: [asked] };
  }
  const reason = "the arguments, the tool, the policy or the caller changed after it was asked";
  const past = voided(replaces, { at: context.clock.now(), reason });
  if (isFailure(past)) return undefined;
  return { approvals: [{ record: past, expect: replaces.revision, order: null }, asked] };
}

const BECAUSE: Record<ApprovalCause, string> = {
  policy: "the policy asks for it",
  tool: "the tool always requires it",
  caller: "the caller asked for it",
};

/** It was accepted when nobody had to be asked. */
function neededTooLate(at: Authorised, because: ApprovalCause): Failure {
  const { tool, operation } = at.request;
  const message = `While ${tool} ${operation} waited for room, it came to need approval (${BECAUSE[because]}).`;
  return approvalNeeded(at, because, { message, advice: "Make the call again; then a person is asked." });
}

function nobodyToAsk(at: Authorised, because: ApprovalCause): Failure {
  const { tool, operation } = at.request;
  const message = `${tool} ${operation} needs approval (${BECAUSE[because]}) and nobody is to be asked.`;
  return approvalNeeded(at, because, { message });
}

function approvalNeeded(
  { decision: { rules, policyVersion } }: Authorised,
  because: ApprovalCause,
  said: { message: string; advice?: string },
): Failure {
  return failure("E3211", { ...said, details: { because, rules, policyVersion, approvalUnlocks: true } });
}
