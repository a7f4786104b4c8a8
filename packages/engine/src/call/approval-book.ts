import { type Failure, failure, isFailure, type JsonValue } from "@sallyport/protocol";
import { approvalDigest } from "../approve/digest.ts";
import { decodeOrder, encodeOrder, type WaitingOrder } from "../approve/order.ts";
import { approve, deny, edit, isUnspent, type Settled, standingAt } from "../approve/settle.ts";
import { unredacted } from "../approve/unredact.ts";
import type { EventKind } from "../audit/event.ts";
import type { StandingChoice } from "../authorise/standing/index.ts";
import type { ApprovalFilter, ApprovalRecord } from "../ports/approvals.ts";
import { forDecision } from "../redact/redact.ts";
import { type AlwaysAllow, alwaysAllow, type PreparedGrant } from "./always-allow.ts";
import { approvalEvent } from "./approval-events.ts";
import { summaryFor } from "./asking.ts";
import type { House } from "./house.ts";
import { receive } from "./received.ts";
import { rehearse } from "./rehearse.ts";
import { expireNow, settleWaiting } from "./settle-waiting.ts";

/** What a person says to a question. */
export interface PersonsAnswer {
  by: string;
  comment?: string;
}

const TRIES = 5;

/** The questions to people about calls, and their answers. Every answer is on record before it counts. */
export class ApprovalBook {
  readonly #house: House;

  constructor(house: House) {
    this.#house = house;
  }

  /** Newest first. An approval past its time is shown as expired, whether or not that is on record yet. */
  async list(filter: ApprovalFilter): Promise<ApprovalRecord[]> {
    return (await this.#house.store.approvals.list(filter)).map((record) => this.#asItStands(record));
  }

  async get(approvalId: string): Promise<ApprovalRecord | undefined> {
    const record = await this.#house.store.approvals.get(approvalId);
    return record && this.#asItStands(record);
  }

  /**
   * A yes; with `always`, also to calls like this one from now on. Both are kept, or neither. `digest` is that of the
   * question as the person saw it: it has to be given once somebody has changed the arguments.
   */
  async approve(
    approvalId: string,
    { by, comment, always, digest }: PersonsAnswer & { always?: AlwaysAllow; digest?: string },
  ): Promise<ApprovalRecord | Failure> {
    const grant = always && (await this.#standing(approvalId, { ...always, by }));
    if (grant && isFailure(grant)) return grant;
    return await this.#change(approvalId, {
      by,
      note: comment,
      change: (record, at) =>
        isWhatWasSeen(record, digest)
          ? approve(record, { by, at, ...(comment !== undefined && { comment }) })
          : seenBefore(record),
      ...(grant && { grant }),
    });
  }

  /** A no: the call that waits is denied at once, with the person's reason. */
  async deny(
    approvalId: string,
    { by, reason }: { by: string; reason: string },
  ): Promise<ApprovalRecord | Failure> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const record = await this.#house.store.approvals.get(approvalId);
      if (!record) return unknownApproval(approvalId);
      const after = deny(record, { by, at: this.#house.clock.now(), reason });
      if (isFailure(after)) return after;
      const message = `${by} denied it: ${reason}`;
      const error = failure("E3214", { message, details: { approvalId, by, reason } });
      const settlement = { kind: "APPROVAL_DENIED", states: ["DENIED"], error, by } as const;
      if (await settleWaiting(record, after, settlement, this.#house)) return after;
    }
    return busy(approvalId);
  }

  /**
   * A yes to other arguments, which are validated and authorised like any others first. What is left as it was shown,
   * redacted, means what it was.
   */
  async edit(
    approvalId: string,
    { by, input }: { by: string; input: JsonValue },
  ): Promise<ApprovalRecord | Failure> {
    const text = await this.#house.store.approvals.order(approvalId);
    if (text === undefined) {
      const known = await this.get(approvalId);
      return known
        ? failure("E3222", { message: `Approval ${approvalId} is ${known.standing.state}.` })
        : unknownApproval(approvalId);
    }
    const record = await this.#house.store.approvals.get(approvalId);
    if (!record) return unknownApproval(approvalId);
    const order = decodeOrder(text);
    if (order.held) return shownEffects(approvalId);
    const meant = unredacted(input, { real: order.input, shown: record.input });
    const changed = await this.#rehearsed(record, { order, input: meant });
    if (isFailure(changed)) return changed;
    return await this.#change(approvalId, {
      by,
      note: "the arguments were changed",
      change: (latest, at) => edit(latest, { ...changed, by, at }),
      order: encodeOrder({ ...order, input: meant }),
    });
  }

  /** Puts every approval that is past its time on record as expired. */
  async expireDue(): Promise<number> {
    let expired = 0;
    let before: string | undefined;
    for (;;) {
      const page = await this.#house.store.approvals.list({
        states: ["pending", "approved", "edited", "reserved"],
        limit: 200,
        ...(before !== undefined && { before }),
      });
      for (const record of page) if (await expireNow(record, this.#house)) expired += 1;
      before = page.at(-1)?.approvalId;
      if (before === undefined) return expired;
    }
  }

  async #standing(approvalId: string, choice: StandingChoice): Promise<PreparedGrant | Failure> {
    const record = await this.get(approvalId);
    return record ? await alwaysAllow(record, choice, this.#house) : unknownApproval(approvalId);
  }

  #asItStands(record: ApprovalRecord): ApprovalRecord {
    return { ...record, standing: standingAt(record, this.#house.clock.now()) };
  }

  async #rehearsed(
    record: ApprovalRecord,
    { order, input }: { order: WaitingOrder; input: JsonValue },
  ): Promise<Omit<Parameters<typeof edit>[1], "by" | "at"> | Failure> {
    const house = this.#house;
    const waits = { for: "approval" as const, approvalId: record.approvalId, verified: order.verified };
    const weighed = await rehearse(order, { callId: record.callId, waits, input }, house);
    if (isFailure(weighed)) return weighed;
    const summary = summaryFor(weighed);
    if (typeof summary !== "string") return summary;
    const { inputHash } = receive(input, house.limits.input);
    const manifestHash = weighed.tool.record.manifestHash;
    const { policyVersion } = weighed.decision;
    const digest = approvalDigest({
      ...record,
      caller: order.caller,
      inputHash,
      manifestHash,
      policyVersion,
    });
    return { digest, inputHash, manifestHash, policyVersion, summary, input: forDecision.redact(input) };
  }

  /** Makes a change on the newest revision, again when somebody else was faster. */
  async #change(approvalId: string, change: Change): Promise<ApprovalRecord | Failure> {
    const { store, clock, bus, shelf } = this.#house;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const before = await store.approvals.get(approvalId);
      const call = before && (await store.calls.get(before.callId));
      if (!before || !call) return unknownApproval(approvalId);
      const at = clock.now();
      const after = change.change(before, at);
      if (isFailure(after)) return after;
      const { by, note, order, grant } = change;
      const event = approvalEvent(kindOf(after), after, { call, by, at, note });
      const result = await store.commit({
        tenant: before.tenant,
        approvals: [{ record: after, expect: before.revision, ...(order !== undefined && { order }) }],
        ...(grant && { grants: [{ record: grant.record }] }),
        events: grant ? [event, grant.event] : [event],
        outbox: [],
      });
      if (!result.ok) continue;
      bus.publish("approvals:updates", { approvalId, state: after.standing.state });
      if (grant) {
        bus.publish("grants:updates", { changed: [grant.record.grantId], revoked: [] });
        shelf?.put(grant.record);
      }
      return after;
    }
    return busy(approvalId);
  }
}

interface Change {
  by: string;
  note?: string | undefined;
  change(record: ApprovalRecord, at: number): Settled;
  order?: string;
  grant?: PreparedGrant;
}

function isWhatWasSeen({ digest, editedBy }: ApprovalRecord, seen: string | undefined): boolean {
  return seen === undefined ? editedBy === undefined : digest === seen;
}

/** Other arguments would have other effects than the ones that were shown. */
function shownEffects(approvalId: string): Failure {
  return failure("E3222", {
    message: `Approval ${approvalId} is about the changes it shows, so its arguments cannot be changed.`,
    advice: "Deny it, and call again with other arguments.",
  });
}

function seenBefore({ approvalId, editedBy, digest }: ApprovalRecord): Failure {
  return failure("E3216", {
    message: `The arguments of ${approvalId} were changed${editedBy === undefined ? "" : ` by ${editedBy}`} since.`,
    advice: `Look at it again (\`sallyport approvals show ${approvalId}\`), then approve with its digest.`,
    details: { approvalId, digest },
  });
}

function kindOf({ standing }: ApprovalRecord): EventKind {
  if (!isUnspent(standing)) return "APPROVAL_VOTED";
  return standing.state === "edited" ? "APPROVAL_EDITED" : "APPROVAL_GIVEN";
}

function unknownApproval(approvalId: string): Failure {
  return failure("E3221", { message: `There is no approval ${approvalId}.` });
}

function busy(approvalId: string): Failure {
  return failure("E3222", { message: `Approval ${approvalId} is being changed by others; look again.` });
}
