import { defined, type Failure, failure, isFailure, isJsonObject, type JsonValue } from "@sallyport/protocol";
import type { EventKind } from "../audit/index.ts";
import { draftStanding, issueStanding, type StandingChoice } from "../authorise/standing-grant.ts";
import type { EngineContext } from "../context.ts";
import { claimAll } from "../fleet/claim-all.ts";
import { auditOfAnswer } from "../journal/unit.ts";
import type { ApprovalFilter, ApprovalRecord } from "../ports/approvals.ts";
import type { StandingGrant } from "../ports/grants.ts";
import { evaluateCall } from "./evaluate.ts";
import { decodeOrder, type WaitingOrder } from "./order.ts";
import {
  type ApprovalChange,
  approve,
  deny,
  edit,
  isUnspent,
  onNewest,
  type QuestionContent,
  standingAt,
  unknownApproval,
  wordsOf,
} from "./record.ts";
import { contentOf } from "./stage.ts";
import { closeWithApproval, expireQuestion } from "./suspended.ts";

/** What a person says to a question. */
export interface PersonDecision {
  by: string;
  comment?: string;
}

/** How far an "always" reaches; who says it is known from the answer. */
export type AlwaysAllow = Omit<StandingChoice, "by">;

/** The questions to people about calls, and their answers. Every answer is on record before it counts. */
export class Approvals {
  readonly #context: EngineContext;

  constructor(context: EngineContext) {
    this.#context = context;
  }

  /** Newest first. An approval past its time is shown as expired, whether or not that is on record yet. */
  async list(filter: ApprovalFilter): Promise<ApprovalRecord[]> {
    return (await this.#context.store.approvals.list(filter)).map((record) => this.#asItStands(record));
  }

  async get(approvalId: string): Promise<ApprovalRecord | undefined> {
    const record = await this.#context.store.approvals.get(approvalId);
    return record && this.#asItStands(record);
  }

  /**
   * A yes; with `always`, also to calls like this one from now on. Both are kept, or neither. `digest` is that of the
   * question as the person saw it: it has to be given once somebody has changed the arguments.
   */
  async approve(
    approvalId: string,
    { by, comment: given, always, digest }: PersonDecision & { always?: AlwaysAllow; digest?: string },
  ): Promise<ApprovalRecord | Failure> {
    const comment = given === undefined ? undefined : wordsOf(given);
    return await this.#answer(approvalId, { by, digest, note: comment }, async (record) => {
      const grant = always && (await this.#standingGrant(record, { ...always, by }));
      if (grant && isFailure(grant)) return grant;
      return { change: (at) => approve(record, { by, at, comment }), ...(grant && { grant }) };
    });
  }

  /** A no: the call that waits is denied at once, with the person's reason. */
  async deny(
    approvalId: string,
    { by, reason: given }: { by: string; reason: string },
  ): Promise<ApprovalRecord | Failure> {
    const { store, clock } = this.#context;
    const reason = wordsOf(given);
    const details = { approvalId, by, reason };
    const error = failure("E3214", { message: `${by} denied it: ${reason}`, details });
    return await onNewest(approvalId, store.approvals, async (before) => {
      const after = deny(before, { by, at: clock.now(), reason });
      if (isFailure(after)) return after;
      return (await closeWithApproval({ before, after, error }, this.#context)) && after;
    });
  }

  /**
   * A yes to other arguments, which are validated and authorised like any others first. What is left as it was shown,
   * redacted, means what it was; so `digest` has to be given once somebody else has changed the arguments.
   */
  async edit(
    approvalId: string,
    { by, input, digest }: { by: string; input: JsonValue; digest?: string },
  ): Promise<ApprovalRecord | Failure> {
    const note = "the arguments were changed";
    return await this.#answer(approvalId, { by, digest, note }, async (record) => {
      const kept = await this.#orderOf(record);
      if (isFailure(kept)) return kept;
      // Other arguments would have other effects than the ones that were shown.
      if (kept.held) {
        const message = `Approval ${approvalId} is about the changes it shows, so its arguments cannot be changed.`;
        return failure("E3222", { message, advice: "Deny it, and call again with other arguments." });
      }
      const order = { ...kept, input: unredacted(input, kept.input, record.input) };
      const content = await this.#evaluate(record, order);
      if (isFailure(content)) return content;
      return { change: (at) => edit(record, { by, at, content }), order: JSON.stringify(order) };
    });
  }

  /** Puts every approval that is past its time on record as expired. */
  async expireDue(): Promise<number> {
    let expired = 0;
    const due = claimAll("expired_approval", this.#context);
    for await (const record of due) if (await expireQuestion(record, this.#context)) expired += 1;
    return expired;
  }

  #asItStands(record: ApprovalRecord): ApprovalRecord {
    return { ...record, standing: standingAt(record, this.#context.clock.now()) };
  }

  /** What is asked about the call with other arguments. */
  async #evaluate(record: ApprovalRecord, order: WaitingOrder): Promise<QuestionContent | Failure> {
    const { attempts: _made, startedAt: _first, verified, held: _none, ...request } = order;
    const { callId, approvalId } = record;
    const waits = { for: "approval" as const, approvalId, verified };
    const authorised = await evaluateCall({ request, callId, waits }, this.#context);
    return isFailure(authorised) ? authorised : contentOf(authorised);
  }

  /** The call as it is kept to be run, in full. Nothing is kept of one that is settled. */
  async #orderOf({ approvalId, standing }: ApprovalRecord): Promise<WaitingOrder | Failure> {
    const text = await this.#context.store.approvals.order(approvalId);
    if (text !== undefined) return decodeOrder(text);
    return failure("E3222", { message: `Approval ${approvalId} is ${standing.state}.` });
  }

  /** Puts an answer on record that the newest revision was asked for; again when somebody else was faster. */
  async #answer(
    approvalId: string,
    { by, note, digest }: { by: string; note: string | undefined; digest: string | undefined },
    answer: (record: ApprovalRecord) => Promise<Answered | Failure>,
  ): Promise<ApprovalRecord | Failure> {
    const { store, clock, ids, bus, grantIndex } = this.#context;
    return await onNewest(approvalId, store.approvals, async (before) => {
      const call = await store.calls.get(before.callId);
      if (!call) return unknownApproval(approvalId);
      const answered = await answer(before);
      if (isFailure(answered)) return answered;
      const { change, order, grant } = answered;
      const at = clock.now();
      const after = wasSeen(before, digest) ? change(at) : changedSinceSeen(before);
      if (isFailure(after)) return after;
      const granted = grant && { grant, eventId: ids.next() };
      const result = await store.commit({
        tenant: before.tenant,
        approvals: [{ record: after, expect: before.revision, ...defined({ order }) }],
        ...(grant && { grants: [{ record: grant }] }),
        audit: auditOfAnswer(kindOf(after), after, { call, by, at, note, granted }),
      });
      if (!result.ok) return undefined;
      bus.publish("approvals:updates", { approvalId, state: after.standing.state });
      if (grant) {
        bus.publish("grants:updates", { changed: [grant.grantId], revoked: [] });
        grantIndex?.put(grant);
      }
      return after;
    });
  }

  /** Makes a grant of a person's "always". Refused where no grant could answer: only a policy's question can be. */
  async #standingGrant(approval: ApprovalRecord, choice: StandingChoice): Promise<StandingGrant | Failure> {
    const { signer, clock, ids } = this.#context;
    if (!signer) return failure("E3227", { message: "There is no key to sign a grant with." });
    const reason = mustBeAskedEachTime(approval);
    if (reason !== undefined) {
      return failure("E3220", {
        message: `No standing grant can answer for this: ${reason}.`,
        advice: "Approve this one call, without always.",
      });
    }
    const order = await this.#orderOf(approval);
    const draft = isFailure(order) ? order : draftStanding(approval, order.input, choice);
    return isFailure(draft) ? draft : issueStanding(draft, { now: clock.now(), ids, signer });
  }
}

/** What an answer changes. */
interface Answered {
  change(at: number): ApprovalChange;
  /** Replaces the kept order. */
  order?: string;
  /** Signed and not kept yet. */
  grant?: StandingGrant;
}

/** Why one person cannot allow such calls for good; undefined when they can. */
function mustBeAskedEachTime({ because, tool, quorum }: ApprovalRecord): string | undefined {
  if (because === "tool") return `${tool} requires approval of every call`;
  if (because === "caller") return "the caller asked for approval itself";
  return quorum > 1 ? `${quorum} different people have to agree to each call` : undefined;
}

function wasSeen({ digest, editedBy }: ApprovalRecord, seen: string | undefined): boolean {
  return seen === undefined ? editedBy === undefined : digest === seen;
}

function changedSinceSeen({ approvalId, editedBy, digest }: ApprovalRecord): Failure {
  return failure("E3216", {
    message: `The arguments of ${approvalId} were changed${editedBy === undefined ? "" : ` by ${editedBy}`} since.`,
    advice: `Look at it again (\`sallyport approvals show ${approvalId}\`), then answer with its digest.`,
    details: { approvalId, digest },
  });
}

function kindOf({ standing }: ApprovalRecord): EventKind {
  if (!isUnspent(standing)) return "APPROVAL_VOTED";
  return standing.state === "edited" ? "APPROVAL_EDITED" : "APPROVAL_GIVEN";
}

/** Arguments that a person has changed, who was shown them redacted: what was left as shown means what it really is. */
function unredacted(edited: JsonValue, real?: JsonValue, shown?: JsonValue): JsonValue {
  if (real === undefined || shown === undefined) return edited;
  if (edited === shown) return real;
  if (Array.isArray(edited) && Array.isArray(real) && Array.isArray(shown)) {
    return edited.map((item, index) => unredacted(item, real[index], shown[index]));
  }
  if (!isJsonObject(edited) || !isJsonObject(real) || !isJsonObject(shown)) return edited;
  const entries = Object.entries(edited).map(([key, value]) => {
    const isKnown = Object.hasOwn(real, key) && Object.hasOwn(shown, key);
    return [key, isKnown ? unredacted(value, real[key], shown[key]) : value] as const;
  });
  return Object.fromEntries(entries);
}
