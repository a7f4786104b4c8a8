import type { ApprovalReader, ApprovalRecord } from "../ports/approvals.ts";
import type { ListPlace } from "../ports/calls.ts";
import type { WorkKind } from "../ports/fleet.ts";
import type { GrantReader, GrantRecord, GrantUse } from "../ports/grants.ts";
import type { Conflict, UnitOfWork } from "../ports/store.ts";
import { type Claimer, newestFirst } from "./calls.ts";
import { ChangeLog } from "./change-log.ts";

/** The first id whose write was made on an older revision; each write is taken to follow those before it. */
export function firstStale<Written extends { revision: number }>(
  writes: readonly { record: Written; expect?: number }[],
  idOf: (record: Written) => string,
  stored: ReadonlyMap<string, { record: Written }>,
): string | undefined {
  const written = new Map<string, number>();
  for (const { record, expect } of writes) {
    const id = idOf(record);
    if ((written.get(id) ?? stored.get(id)?.record.revision) !== expect) return id;
    written.set(id, record.revision);
  }
  return undefined;
}

interface KeptApproval {
  /** Its call and its tenant stay those it was first written with. */
  callId: string;
  tenant: string;
  record: ApprovalRecord;
  order: string | undefined;
  unattended: boolean;
  /** The instance that holds it as approved. A write ends this and the next. */
  claimedBy?: string | undefined;
  heldUntil?: number;
}

const placeOf = ({ record: { createdAt, approvalId } }: KeptApproval): ListPlace => ({
  at: createdAt,
  id: approvalId,
});

const IS_WORK = {
  approved: ({ record, unattended }: KeptApproval, { now }: Pick<Claimer, "now">) =>
    unattended && record.expiresAt > now && ["approved", "edited"].includes(record.standing.state),
  expired_approval: ({ record }: KeptApproval, { now }: Claimer) =>
    record.expiresAt <= now && ["pending", "approved", "edited"].includes(record.standing.state),
  reservation: ({ record: { standing } }: KeptApproval, { now, isLive }: Claimer) =>
    standing.state === "reserved" && (standing.until <= now || !isLive(standing.owner)),
};

/** Approvals in the order they were first written, each with the order it was asked for as long as that is kept. */
export class MemoryApprovals {
  readonly #approvals = new Map<string, KeptApproval>();
  readonly #byCall = new Map<string, string[]>();

  readonly reader: ApprovalReader = {
    get: async (approvalId) => structuredClone(this.#approvals.get(approvalId)?.record),
    ofCall: (callId) => this.reader.get(this.#byCall.get(callId)?.at(-1) ?? ""),
    order: async (approvalId) => this.#approvals.get(approvalId)?.order,
    list: async ({ tenant, states, before, limit }) => {
      const matching = [...this.#approvals.values()]
        .filter((kept) => tenant === undefined || kept.tenant === tenant)
        .filter(({ record }) => states === undefined || states.includes(record.standing.state));
      return newestFirst(matching, placeOf, before)
        .slice(0, Math.max(0, limit))
        .map(({ record }) => structuredClone(record));
    },
  };

  conflict({ approvals = [] }: UnitOfWork): Conflict | undefined {
    const approvalId = firstStale(approvals, (record) => record.approvalId, this.#approvals);
    return approvalId === undefined ? undefined : { kind: "approval", approvalId };
  }

  write({ approvals = [] }: UnitOfWork): void {
    for (const { record, order, unattended = false } of approvals) {
      const before = this.#approvals.get(record.approvalId);
      const { callId, tenant } = before ?? record;
      const kept = order === undefined ? before?.order : (order ?? undefined);
      const isUnattended = before?.unattended ?? unattended;
      const written = { callId, tenant, record, order: kept, unattended: isUnattended };
      this.#approvals.set(record.approvalId, written);
      if (!before) this.#byCall.set(callId, [...(this.#byCall.get(callId) ?? []), record.approvalId]);
    }
  }

  /** Approvals that are work of this kind and that nobody holds. */
  claim(kind: WorkKind & keyof typeof IS_WORK, claimer: Claimer): ApprovalRecord[] {
    const { instance, limit, now, holdMs, isLive } = claimer;
    const isHeld = ({ claimedBy, heldUntil = 0 }: KeptApproval) =>
      kind === "approved" ? claimedBy !== undefined && isLive(claimedBy) : heldUntil > now;
    const free = [...this.#approvals.values()].filter(
      (kept) => !isHeld(kept) && IS_WORK[kind](kept, claimer),
    );
    return free.slice(0, limit).map((kept) => {
      if (kind === "approved") kept.claimedBy = instance;
      else kept.heldUntil = now + holdMs;
      return structuredClone(kept.record);
    });
  }

  /** Those that the instance has claimed as approved and that are still good. */
  held(instance: string, now: number): ApprovalRecord[] {
    const isHeld = (kept: KeptApproval) => kept.claimedBy === instance && IS_WORK.approved(kept, { now });
    return [...this.#approvals.values()].filter(isHeld).map(({ record }) => structuredClone(record));
  }

  release(instance: string, approvalIds: readonly string[]): void {
    for (const id of approvalIds) {
      const kept = this.#approvals.get(id);
      if (kept?.claimedBy === instance) kept.claimedBy = undefined;
    }
  }

  forgetCall(callId: string): void {
    for (const id of this.#byCall.get(callId) ?? []) this.#approvals.delete(id);
    this.#byCall.delete(callId);
  }
}

interface KeptGrant {
  record: GrantRecord;
  /** Uses that a rate counts, in the order they were made. */
  recent: { callId: string | undefined; at: number }[];
}

/** Grants in the order they were issued. A use is counted in the record and is not a write: its revision stays. */
export class MemoryGrants {
  readonly #grants = new Map<string, KeptGrant>();
  readonly #changes = new ChangeLog();

  readonly reader: GrantReader = {
    get: async (grantId) => structuredClone(this.#grants.get(grantId)?.record),
    changedSince: async (cursor) => this.#changes.since(cursor, this.#grants, ({ record }) => record),
  };

  conflict({ grants = [], grantUses = [] }: UnitOfWork): Conflict | undefined {
    const grantId = firstStale(grants, (record) => record.grantId, this.#grants);
    return grantId === undefined ? this.#firstSpent(grantUses) : { kind: "grant", grantId };
  }

  write({ grants = [], grantUses = [], returnedUses = [] }: UnitOfWork): void {
    for (const { record } of grants) this.#put(record);
    for (const use of grantUses) this.#count(use);
    for (const { grantId, callId } of returnedUses) {
      const kept = this.#grants.get(grantId);
      if (!kept) continue;
      kept.record.uses = Math.max(0, kept.record.uses - 1);
      kept.recent = kept.recent.filter((use) => use.callId !== callId);
    }
  }

  /** The first use that its grant's limit does not allow any more. */
  #firstSpent(uses: readonly GrantUse[]): Conflict | undefined {
    for (const { grantId, at, maxUses, rates = [] } of uses) {
      if (maxUses === undefined && rates.length === 0) continue;
      const kept = this.#grants.get(grantId);
      if (!kept || kept.record.uses >= (maxUses ?? Infinity)) return { kind: "grant_spent", grantId };
      const newestFirst = kept.recent.map((use) => use.at).sort((one, other) => other - one);
      const free = rates.map(({ max, windowMs }) => (newestFirst[max - 1] ?? -Infinity) + windowMs);
      const freeAt = Math.max(-Infinity, ...free);
      if (freeAt > at) return { kind: "grant_spent", grantId, freeAt };
    }
    return undefined;
  }

  /** The counts of a grant that is there already stay as they are. */
  #put(given: GrantRecord): void {
    const before = this.#grants.get(given.grantId);
    const { lastUsedAt: _, ...record } = given;
    const { uses, lastUsedAt } = before?.record ?? given;
    const counted = { ...record, uses, ...(lastUsedAt !== undefined && { lastUsedAt }) };
    this.#grants.set(record.grantId, { record: counted, recent: before?.recent ?? [] });
    this.#changes.note(record.grantId);
  }

  #count({ grantId, at, callId, rates = [] }: GrantUse): void {
    const kept = this.#grants.get(grantId);
    if (!kept) return;
    kept.record.uses += 1;
    kept.record.lastUsedAt = Math.max(kept.record.lastUsedAt ?? at, at);
    if (rates.length === 0) return;
    const longest = Math.max(...rates.map(({ windowMs }) => windowMs));
    kept.recent = [...kept.recent.filter((use) => use.at > at - longest), { callId, at }];
  }
}
