import type { ApprovalFilter, ApprovalReader, ApprovalRecord } from "../ports/approvals.ts";
import type { GrantReader, GrantRecord, GrantUse, Revocation, RevocationReader } from "../ports/grants.ts";
import type { Conflict, UnitOfWork } from "../ports/store.ts";

interface RevisedWrite {
  id: string;
  record: { revision: number };
  /** The revision the write was made on; undefined for a new record. */
  expect?: number;
}

/**
 * The first id whose write was made on an older revision; each write is taken to follow those before it. Throws when a
 * revision is not the one after what its write expects: a mistake of the writer, never a race.
 */
function firstStale(
  writes: readonly RevisedWrite[],
  stored: (id: string) => number | undefined,
): string | undefined {
  const written = new Map<string, number>();
  for (const { id, record, expect } of writes) {
    const { revision } = record;
    if (revision !== (expect ?? 0) + 1) {
      const base = expect ?? "none";
      throw new RangeError(`The write of ${id} on revision ${base} calls itself revision ${revision}.`);
    }
    if ((written.get(id) ?? stored(id)) !== expect) return id;
    written.set(id, revision);
  }
  return undefined;
}

interface KeptApproval {
  /** Its call and its tenant stay those it was first written with. */
  callId: string;
  tenant: string;
  record: ApprovalRecord;
  order: string | undefined;
}

/** Approvals in the order they were first written, each with the order it was asked for as long as that is kept. */
export class MemoryApprovals implements ApprovalReader {
  readonly #approvals = new Map<string, KeptApproval>();
  readonly #byCall = new Map<string, string[]>();

  conflict({ approvals = [] }: UnitOfWork): Conflict | undefined {
    const writes = approvals.map((write) => ({ ...write, id: write.record.approvalId }));
    const approvalId = firstStale(writes, (id) => this.#approvals.get(id)?.record.revision);
    return approvalId === undefined ? undefined : { kind: "approval", approvalId };
  }

  write({ approvals = [] }: UnitOfWork): void {
    for (const { record, order } of approvals) this.#put(record, order);
  }

  async get(approvalId: string): Promise<ApprovalRecord | undefined> {
    return structuredClone(this.#approvals.get(approvalId)?.record);
  }

  async ofCall(callId: string): Promise<ApprovalRecord | undefined> {
    return this.get(this.#byCall.get(callId)?.at(-1) ?? "");
  }

  async order(approvalId: string): Promise<string | undefined> {
    return this.#approvals.get(approvalId)?.order;
  }

  /** Newest first in the order they came; nothing when `before` is not known. */
  async list({ tenant, states, before, limit }: ApprovalFilter): Promise<ApprovalRecord[]> {
    const newestFirst = [...this.#approvals].reverse();
    const from = newestFirst.findIndex(([id]) => id === before) + 1;
    if (before !== undefined && from === 0) return [];
    const matching = newestFirst
      .slice(from)
      .map(([, kept]) => kept)
      .filter((kept) => tenant === undefined || kept.tenant === tenant)
      .filter(({ record }) => states === undefined || states.includes(record.standing.state));
    return matching.slice(0, Math.max(0, limit)).map(({ record }) => structuredClone(record));
  }

  forgetCall(callId: string): void {
    for (const id of this.#byCall.get(callId) ?? []) this.#approvals.delete(id);
    this.#byCall.delete(callId);
  }

  #put(record: ApprovalRecord, order: string | null | undefined): void {
    const before = this.#approvals.get(record.approvalId);
    const { callId, tenant } = before ?? record;
    const kept = order === undefined ? before?.order : (order ?? undefined);
    this.#approvals.set(record.approvalId, { callId, tenant, record, order: kept });
    if (!before) this.#byCall.set(callId, [...(this.#byCall.get(callId) ?? []), record.approvalId]);
  }
}

interface KeptGrant {
  record: GrantRecord;
  /** Uses that a rate counts, in the order they were made. */
  recent: { callId: string | undefined; at: number }[];
}

/** Grants in the order they were issued. A use is counted in the record and is not a write: its revision stays. */
export class MemoryGrants implements GrantReader {
  readonly #grants = new Map<string, KeptGrant>();

  conflict({ grants = [], grantUses = [] }: UnitOfWork): Conflict | undefined {
    const writes = grants.map((write) => ({ ...write, id: write.record.grantId }));
    const grantId = firstStale(writes, (id) => this.#grants.get(id)?.record.revision);
    return grantId === undefined ? this.#firstSpent(grantUses) : { kind: "grant", grantId };
  }

  write({ grants = [], grantUses = [], returnedUses = [] }: UnitOfWork): void {
    for (const { record } of grants) this.#put(record);
    for (const use of grantUses) this.#count(use);
    for (const { grantId, callId } of returnedUses) this.#giveBack(grantId, callId);
  }

  async get(grantId: string): Promise<GrantRecord | undefined> {
    return structuredClone(this.#grants.get(grantId)?.record);
  }

  async all(): Promise<GrantRecord[]> {
    return [...this.#grants.values()].map(({ record }) => structuredClone(record));
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
  #put(record: GrantRecord): void {
    const before = this.#grants.get(record.grantId);
    if (before) {
      const { uses, lastUsedAt } = before.record;
      record.uses = uses;
      if (lastUsedAt === undefined) delete record.lastUsedAt;
      else record.lastUsedAt = lastUsedAt;
    }
    this.#grants.set(record.grantId, { record, recent: before?.recent ?? [] });
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

  #giveBack(grantId: string, callId: string): void {
    const kept = this.#grants.get(grantId);
    if (!kept) return;
    kept.record.uses = Math.max(0, kept.record.uses - 1);
    kept.recent = kept.recent.filter((use) => use.callId !== callId);
  }
}

/** Revoked tokens by name. The first revocation of a token stays as it was. */
export class MemoryRevocations implements RevocationReader {
  readonly #revoked = new Map<string, Revocation>();

  write({ revocations = [] }: UnitOfWork): void {
    for (const revocation of revocations) {
      if (!this.#revoked.has(revocation.jti)) this.#revoked.set(revocation.jti, revocation);
    }
  }

  async all(): Promise<Revocation[]> {
    return [...this.#revoked.values()].map((revocation) => ({ ...revocation }));
  }
}
