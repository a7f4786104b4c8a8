import { defined, type Failure, failure, isFailure, type JsonValue } from "@sallyport/protocol";
import type { EngineContext } from "../context.ts";
import { conflictFailure } from "../journal/conflicts.ts";
import { intentOf, spokenBy } from "../journal/unit.ts";
import type { Authorised } from "../passage/authorise.ts";
import { Stop } from "../passage/passage.ts";
import { type Allowed, ApprovalPending, abortBeforeStart, deny, type Ending } from "../passage/steps.ts";
import type { ApprovalCause, ApprovalRecord } from "../ports/approvals.ts";
import type { Conflict, UnitOfWork } from "../ports/store.ts";
import { forDecision } from "../redact/redact.ts";
import { encodeOrder } from "./order.ts";
import { discardPreview, previewEffects } from "./preview.ts";
import {
  approvalDigest,
  ask,
  end,
  isFinal,
  isUnspent,
  onNewest,
  type QuestionContent,
  reserve,
  standingAt,
} from "./record.ts";
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
  if (waits) return deny(at, unasked(at, because, "neededTooLate"));
  if (attempt.request.onApproval === "deny") return deny(at, unasked(at, because, "nobodyToAsk"));
  return askFirst(at, because, context);
}

/** From this security level on a person verifies each call, whatever allows it (MCX-8). */
const VERIFIED_LEVEL = 8;

/** Why a person has to be asked about the call; undefined when nobody has to be. */
export function approvalCause({ attempt, tool, decision }: Authorised): ApprovalCause | undefined {
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
    const standing = standingAt(record, context.clock.now());
    // Settled, about to be used by another executor, or changed by a person since this attempt read the arguments.
    const isForOthers = standing.state === "reserved" || record.inputHash !== at.progress.inputHash;
    if (isFinal(standing.state) || isForOthers) return new ApprovalPending(record, at.progress);
    const isForThisCall = digestOf(at) === record.digest;
    if (isForThisCall && isUnspent(standing)) return await spend(at, record, context);
    if (!because) return allowWithoutApproval(at, record, context);
    if (isForThisCall) return new ApprovalPending(record, at.progress);
    const asked = await requestApproval(at, { because, replaces: record }, context);
    return asked instanceof Stop ? asked : undefined;
  });
  return isFailure(next) ? deny(given, next) : next;
}

/** Nobody has to be asked any more: the call runs as it is now. What was previewed goes once the intent is on record. */
function allowWithoutApproval(at: Authorised, record: ApprovalRecord, context: EngineContext): Allowed {
  const { attempt } = at;
  attempt.onExit(() => {
    if (attempt.journaled) void discardPreview(record, context);
  });
  return allow({ ...at, progress: { ...at.progress, held: undefined } });
}

/** Reserves the yes for this attempt; undefined when somebody else changed the record meanwhile. */
async function spend(
  at: Authorised,
  record: ApprovalRecord,
  { store, clock, owner, approvals }: Pick<EngineContext, "store" | "clock" | "owner" | "approvals">,
): Promise<Allowed | ApprovalPending | undefined> {
  const { leaseMs } = approvals;
  const reserved = reserve(record, { owner, at: clock.now(), leaseMs, digest: digestOf(at) });
  if (isFailure(reserved)) return new ApprovalPending(record, at.progress);
  const writes = [{ record: reserved, expect: record.revision }];
  const result = await store.commit({ tenant: record.tenant, approvals: writes });
  if (!result.ok) return undefined;
  return allow({ ...at, progress: { ...at.progress, question: reserved, approval: spokenBy(reserved) } });
}

interface Request {
  because: ApprovalCause;
  /** The question whose answer is void: the call is not what it was about any more. */
  replaces?: ApprovalRecord | undefined;
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
  const stop = await putOnRecord(at, { because, replaces, round, effects: preview.effects }, context);
  const outdated = stop instanceof ApprovalPending ? replaces : { callId: at.attempt.callId, round };
  if (outdated) await discardPreview(outdated, context);
  return stop;
}

/** What an approval of the call as it is now would be an approval of, besides the changes that were shown. */
function approvedBy({ progress, tool, decision }: Authorised) {
  const { call, inputHash } = progress;
  const { manifestHash } = tool.record;
  return { ...call, inputHash, manifestHash, policyVersion: decision.policyVersion };
}

function digestOf(at: Authorised): string {
  return approvalDigest({ ...approvedBy(at), shown: at.progress.held?.digest });
}

/** What a question says of the call as it is now; why nobody can be asked, when it cannot be described. */
export function contentOf(at: Authorised): QuestionContent | Failure {
  const { tool, life } = at;
  const summary = summarise(tool, life.input);
  if (typeof summary !== "string") return summary;
  const input = forDecision.redact(life.input);
  return { ...approvedBy(at), digest: digestOf(at), summary, risk: tool.traits.risk, input };
}

/**
 * The first question opens the call in the journal, as waiting; a later one takes the place of the one it voids, unless
 * that one is settled by now.
 */
async function putOnRecord(
  at: Authorised,
  { replaces, ...asking }: Request & { round: number; effects: JsonValue | undefined },
  context: EngineContext,
): Promise<ApprovalPending | Ending | Conflict> {
  const { attempt, tool, decision, life } = at;
  const { clock, ids, store, bus } = context;
  const content = contentOf(at);
  if (isFailure(content)) return deny(at, content);
  const now = clock.now();
  const question = ask({ approvalId: ids.next(), content, decision, ...asking, at: now }, context.approvals);
  const { approvalId } = question;
  const attempts = at.progress.number - 1;
  const order = encodeOrder(attempt, { progress: at.progress, tool, input: life.input, attempts });
  const { unattended, asyncMode } = attempt.request;
  const asked = { record: question, order, unattended: unattended || asyncMode || false };
  const progress = { ...at.progress, approval: spokenBy(question), ...(replaces && { question }) };
  const events = attempt.log.unit({ kind: "APPROVAL_REQUESTED", at: now, progress });
  const { audit } = events;
  const unit: UnitOfWork = { tenant: attempt.call.tenant, approvals: [asked], audit };
  if (replaces) {
    const reason = "the arguments, the tool, the policy or the caller changed after it was asked";
    const past = end(replaces, { state: "void", at: now, reason });
    if (isFailure(past)) return { kind: "approval", approvalId };
    unit.approvals = [{ record: past, expect: replaces.revision, order: null }, asked];
  } else {
    const { idempotencyKey } = attempt.request;
    unit.open = { ...intentOf(attempt, tool, context), ...defined({ idempotencyKey }), phase: "waiting" };
  }
  const result = await store.commit(unit);
  if (!result.ok) return result.conflict;
  attempt.log.stored(events);
  bus.publish("approvals:updates", { approvalId, state: question.standing.state });
  return new ApprovalPending(question, progress);
}

const BECAUSE: Record<ApprovalCause, string> = {
  policy: "the policy asks for it",
  tool: "the tool always requires it",
  caller: "the caller asked for it",
};

/** Approval is needed and nobody is asked: the caller wants nobody to be, or the call was accepted without a question. */
function unasked(
  { request, decision: { rules, policyVersion } }: Authorised,
  because: ApprovalCause,
  why: "neededTooLate" | "nobodyToAsk",
): Failure {
  const call = `${request.tool} ${request.operation}`;
  const details = { because, rules, policyVersion, approvalUnlocks: true };
  if (why === "nobodyToAsk") {
    const message = `${call} needs approval (${BECAUSE[because]}) and nobody is to be asked.`;
    return failure("E3211", { message, details });
  }
  const message = `While ${call} waited for room, it came to need approval (${BECAUSE[because]}).`;
  return failure("E3211", { message, advice: "Make the call again; then a person is asked.", details });
}
