import { type Failure, failure, isFailure } from "@sallyport/protocol";
import { isFinal, isUnspent, reserve, standingAt } from "../../approve/settle.ts";
import type { ApprovalCause, ApprovalRecord } from "../../ports/approvals.ts";
import { askAgain, askFirst, digestOf } from "../asking.ts";
import { abortUnstarted, deny } from "../ending-steps.ts";
import type { House } from "../house.ts";
import { dropShown, showEffects } from "../preview.ts";
import { type Allowed, Asked, type Ending } from "../steps.ts";
import type { Weighed } from "./authorise.ts";

type Next = Allowed | Asked | Ending;

/** Asks a person where that is due. A need for approval is never waived, and an answer is good for this call alone. */
export function approve(at: Weighed, house: House): Next | Promise<Next> {
  const { attempt } = at;
  if (attempt.signal.aborted) return abortUnstarted(at, attempt.violation ?? failure("E3906"));
  const because = needOf(at);
  const { waits } = attempt;
  if (waits?.for === "approval") return goOn(at, { approvalId: waits.approvalId, because }, house);
  if (!because) return allow(at);
  if (waits) return deny(at, askedTooLate(at, because));
  return attempt.request.onApproval === "deny" ? deny(at, nobodyToAsk(at, because)) : put(at, because, house);
}

async function put(at: Weighed, because: ApprovalCause, house: House): Promise<Asked | Ending> {
  const shown = await showEffects(at, { round: 1 }, house);
  if (isFailure(shown)) return abortUnstarted(at, shown);
  const asked = await askFirst(at, { because, effects: shown.effects }, house);
  if (!isFailure(asked)) return new Asked(asked);
  await dropShown({ callId: at.attempt.callId, round: 1 }, house);
  return deny(at, asked);
}

/** How often a reservation is tried again when somebody else changed the record in between. */
const TRIES = 5;

/** The call has waited: it goes on only by an unspent yes to exactly what it is now. */
async function goOn(
  at: Weighed,
  { approvalId, because }: { approvalId: string; because: ApprovalCause | undefined },
  house: House,
): Promise<Next> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const record = await house.store.approvals.get(approvalId);
    if (!record) return deny(at, failure("E3221", { message: `There is no approval ${approvalId}.` }));
    at.attempt.approval = record;
    const standing = standingAt(record, house.clock.now());
    if (isFinal(standing.state)) return new Asked(record);
    const isAgreed = isUnspent(standing) && digestOf(at) === record.digest;
    if (!because && !isAgreed) return await allowAnew(at, record, house);
    const next = await spend(at, { record, because: because ?? record.because }, house);
    if (next) return next;
  }
  return deny(at, failure("E3222", { message: `Approval ${approvalId} is being changed by others.` }));
}

/** Nobody has to be asked any more: it runs as it is now, and what was tried out under the question is dropped. */
async function allowAnew(at: Weighed, record: ApprovalRecord, house: House): Promise<Allowed> {
  at.attempt.held = undefined;
  await dropShown(record, house);
  return allow(at);
}

/** Undefined when the record was changed by somebody else meanwhile. */
async function spend(
  at: Weighed,
  { record, because }: { record: ApprovalRecord; because: ApprovalCause },
  house: House,
): Promise<Next | undefined> {
  const now = house.clock.now();
  const digest = digestOf(at);
  const { state } = standingAt(record, now);
  if (state !== "pending" && state !== "approved" && state !== "edited") return new Asked(record);
  if (digest !== record.digest) return await againOrDeny(at, { record, because }, house);
  if (state === "pending") return new Asked(record);
  const { leaseMs } = house.approvals;
  const reserved = reserve(record, { owner: house.owner, at: now, leaseMs, digest });
  if (isFailure(reserved)) return new Asked(record);
  const unit = { tenant: record.tenant, approvals: [{ record: reserved, expect: record.revision }] };
  const result = await house.store.commit({ ...unit, events: [], outbox: [] });
  if (!result.ok) return undefined;
  at.attempt.approval = reserved;
  at.attempt.facts.approval = noteOf(reserved);
  return allow(at);
}

/** The arguments, the manifest, the policy or the caller are not those that were asked about: the answer is void. */
async function againOrDeny(
  at: Weighed,
  { record, because }: { record: ApprovalRecord; because: ApprovalCause },
  house: House,
): Promise<Asked | Ending | undefined> {
  const round = record.round + 1;
  // What an earlier question showed says nothing about the call as it is now.
  at.attempt.held = undefined;
  const shown = await showEffects(at, { round }, house);
  if (isFailure(shown)) return abortUnstarted(at, shown);
  const asked = await askAgain(at, { record, because, effects: shown.effects }, house);
  await dropShown(asked === undefined || isFailure(asked) ? { ...record, round } : record, house);
  if (asked === undefined) return undefined;
  return isFailure(asked) ? deny(at, asked) : new Asked(asked);
}

function noteOf({ approvalId, digest, votes }: ApprovalRecord) {
  return { approvalId, by: votes.map(({ by }) => by), digest };
}

function allow({ attempt, tool, life, decision }: Weighed): Allowed {
  return { attempt, tool, input: life.input, life: life.authorized(decision) };
}

/** From this security level on a person verifies each call, whatever allows it (MCX-8). */
const VERIFIED_LEVEL = 8;

/** Why a person has to be asked about the call; undefined when nobody has to be. */
export function needOf({
  attempt,
  tool,
  decision,
}: Pick<Weighed, "attempt" | "tool" | "decision">): ApprovalCause | undefined {
  if (tool.conduct.requiresApproval || tool.manifest.securityLevel >= VERIFIED_LEVEL) return "tool";
  if (decision.outcome === "ask") return "policy";
  return attempt.request.requireApproval ? "caller" : undefined;
}

const BECAUSE: Record<ApprovalCause, string> = {
  policy: "the policy asks for it",
  tool: "the tool always requires it",
  caller: "the caller asked for it",
};

/** It was accepted when nobody had to be asked. */
function askedTooLate({ request, decision }: Weighed, because: ApprovalCause): Failure {
  const message = `While ${request.tool} ${request.operation} waited for room, it came to need approval (${BECAUSE[because]}).`;
  const { rules, policyVersion } = decision;
  const advice = "Make the call again; then a person is asked.";
  return failure("E3211", {
    message,
    advice,
    details: { because, rules, policyVersion, approvalUnlocks: true },
  });
}

function nobodyToAsk({ request, decision }: Weighed, because: ApprovalCause): Failure {
  const message = `${request.tool} ${request.operation} needs approval (${BECAUSE[because]}) and nobody is to be asked.`;
  const { rules, policyVersion } = decision;
  return failure("E3211", { message, details: { because, rules, policyVersion, approvalUnlocks: true } });
}
