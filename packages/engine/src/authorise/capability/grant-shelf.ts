import type { Failure } from "@sallyport/protocol";
import type { CapabilityUse } from "../../ports/authority.ts";
import type { CapabilityGrant, GrantReader, GrantRecord, StandingGrant } from "../../ports/grants.ts";
import { type FiledGrant, fileGrant } from "./filed-grant.ts";
import { type GrantSource, invalidity, lineageOf } from "./grant-validity.ts";
import { HolderIndex } from "./holder-index.ts";
import { type GrantQuery, type GrantRefusal, refuseBeginning, refuseUsing } from "./judge-grant.ts";
import { type GrantSigner, isGenuine } from "./sign-grant.ts";
import { refusedUse, type UseRefusal } from "./use-refusal.ts";

export type MissingReason = "no grant found" | "no valid grant found" | "scope or constraints not satisfied";

export interface HeldCapability {
  capability: string;
  grantId: string;
}

export interface MissingCapability {
  capability: string;
  reason: MissingReason;
  /** The particulars, for whoever may see them. */
  because?: string;
  /** Present when waiting helps (E3224). */
  retryAfterMs?: number;
}

export interface Holding {
  /** More than one grant of a capability when none of them alone is unrestricted. */
  held: HeldCapability[];
  missing: MissingCapability[];
}

/** A use as the authority gets it, with the size of the file where the tool told it. */
export type MeasuredUse = CapabilityUse & { bytes?: number };

type Lack = Omit<MissingCapability, "capability">;

const NO_GRANT: Lack = { reason: "no grant found" };

/**
 * The stored grants, in memory, for decisions. Only what the signer knows as its own counts; without a signer nothing
 * does. A revocation that was seen once stays, whatever a later record says.
 */
export class GrantShelf {
  readonly #signer: GrantSigner | undefined;
  readonly #filed = new Map<string, FiledGrant>();
  readonly #index = new HolderIndex();
  readonly #standing = new Map<string, StandingGrant>();
  /** Grants that count for nothing until they are put again, each with what set it aside last. */
  readonly #aside = new Map<string, object>();
  readonly #source: GrantSource = {
    find: (grantId) => (this.#aside.has(grantId) ? undefined : this.#filed.get(grantId)?.record),
    isGenuine: ({ grantId }) => this.#filed.get(grantId)?.genuine === true,
  };

  constructor(signer: GrantSigner | undefined) {
    this.#signer = signer;
  }

  get size(): number {
    return this.#filed.size + this.#standing.size;
  }

  /** Takes what the store holds in place of all that was here; counts of grants that stay go on. */
  load(records: Iterable<GrantRecord>): void {
    const kept = [...records];
    const ids = new Set(kept.map(({ grantId }) => grantId));
    for (const grantId of [...this.#filed.keys(), ...this.#standing.keys()]) {
      if (!ids.has(grantId)) this.#drop(grantId);
    }
    for (const record of kept) this.put(record);
  }

  /** Takes a new or changed grant; one older than what is here is passed over. */
  put(given: GrantRecord): void {
    const { grantId } = given;
    const known = this.#filed.get(grantId)?.record ?? this.#standing.get(grantId);
    if (known && known.revision > given.revision) return;
    const record = keepRevoked(structuredClone(given), known);
    const genuine = this.#signer !== undefined && isGenuine(record, this.#signer);
    const before = this.#filed.get(grantId);
    this.#drop(grantId);
    if (record.kind === "capability") this.#file(fileGrant(record, genuine, before));
    else if (genuine) this.#standing.set(grantId, record);
  }

  /**
   * Reads grants anew. They count for nothing from now until that is done, and those that cannot be read stay so: a lost
   * store denies. Never rejects; resolves with the ids that could not be read.
   */
  async refresh(grantIds: readonly string[], grants: GrantReader): Promise<string[]> {
    const mark = {};
    const known = new Set(grantIds.filter((grantId) => this.#isKnown(grantId)));
    for (const grantId of known) this.#aside.set(grantId, mark);
    const unread: string[] = [];
    for (const grantId of grantIds) {
      try {
        const record = await grants.get(grantId);
        // Something newer happened to it meanwhile; what was read here may be older than that.
        const isOvertaken = known.has(grantId) && this.#aside.get(grantId) !== mark;
        if (record && !isOvertaken) this.put(record);
      } catch {
        unread.push(grantId);
      }
    }
    return unread;
  }

  /** Which of the required capabilities are held now, by which grants, and why the others are not. */
  capabilitiesFor(query: GrantQuery, required: readonly string[]): Holding {
    const holding: Holding = { held: [], missing: [] };
    for (const capability of required) {
      const found = this.#filed.size === 0 ? NO_GRANT : this.#serving(query, capability);
      if ("reason" in found) holding.missing.push({ capability, ...found });
      else holding.held.push(...found.map(({ record }) => ({ capability, grantId: record.grantId })));
    }
    return holding;
  }

  /** Counts a call that rests on these grants and on those they were delegated from. To be called once it may run. */
  began(grantIds: readonly string[], { callId, at }: { callId: string; at: number }): void {
    for (const { tally } of this.#lines(grantIds)) tally.begin(callId, at);
  }

  /**
   * Why a running tool may not use a capability this way, judged by those of the call's grants that give it: E3212
   * beyond their scope, E3217 when none of them counts any more, E3224 when waiting would help. What is allowed is
   * counted. Undefined also when none of the grants is about the capability.
   */
  refuseUse(use: MeasuredUse, grantIds: readonly string[]): Failure | undefined {
    const own = grantIds.flatMap((grantId) => this.#filed.get(grantId) ?? []);
    const giving = own.filter(({ record }) => record.capabilityId === use.capability);
    const refusals: UseRefusal[] = this.#vanished(giving.length === 0 ? grantIds : []);
    for (const filed of giving) {
      const line = this.#validLine(filed.record, use.at);
      const refused = "kind" in line ? line : refuseUsing(line, use);
      if (!refused) return this.#count(filed, use);
      refusals.push(refused);
    }
    return refusals.length === 0 ? undefined : refusedUse(use, refusals);
  }

  /** The genuine standing grants, oldest first; whether one is still in force depends on the moment. */
  standing(): StandingGrant[] {
    return [...this.#standing.values()].filter(({ grantId }) => !this.#aside.has(grantId));
  }

  /** The grants and all they were delegated from: what a call that rests on them has used. */
  lineage(grantIds: readonly string[]): string[] {
    const standing = grantIds.filter((grantId) => this.#standing.has(grantId));
    return [...standing, ...this.#lines(grantIds).map(({ record }) => record.grantId)];
  }

  #serving(query: GrantQuery, capability: string): FiledGrant[] | Lack {
    const given = this.#index.find(query, capability);
    if (given.length === 0) return NO_GRANT;
    const lines = given.map(({ record }) => this.#validLine(record, query.request.at));
    const valid = lines.filter((line) => Array.isArray(line));
    if (valid.length === 0) {
      return { reason: "no valid grant found", because: reasonsOf(lines.filter((line) => "kind" in line)) };
    }
    const judged = valid.map((line) => ({ line, refused: refuseBeginning(line, query) }));
    const serving = judged.flatMap(({ line, refused }) => (refused ? [] : line.slice(0, 1)));
    if (serving.length === 0) return unmet(judged.flatMap(({ refused }) => refused ?? []));
    const enough = serving.findIndex(isUnrestricted);
    return enough === -1 ? serving : serving.slice(0, enough + 1);
  }

  #validLine(grant: CapabilityGrant, at: number): FiledGrant[] | (UseRefusal & { kind: "invalid" }) {
    const { grantId } = grant;
    const reason = this.#aside.has(grantId) ? `${grantId} was changed` : invalidity(grant, this.#source, at);
    return reason === undefined ? this.#line(grant) : { kind: "invalid", reason };
  }

  #line(grant: CapabilityGrant): FiledGrant[] {
    const line = lineageOf(grant, (grantId) => this.#filed.get(grantId)?.record) ?? [grant];
    return line.flatMap(({ grantId }) => this.#filed.get(grantId) ?? []);
  }

  #lines(grantIds: readonly string[]): FiledGrant[] {
    const found = grantIds.flatMap((grantId) => this.#filed.get(grantId) ?? []);
    return [...new Set(found.flatMap(({ record }) => this.#line(record)))];
  }

  #count({ record }: FiledGrant, { callId, at }: { callId: string; at: number }): undefined {
    for (const { tally } of this.#line(record)) tally.use(callId, at);
  }

  #vanished(grantIds: readonly string[]): UseRefusal[] {
    const gone = grantIds.filter((grantId) => !this.#isKnown(grantId));
    return gone.map((grantId) => ({ kind: "invalid", reason: `${grantId} is not stored any more` }));
  }

  #isKnown(grantId: string): boolean {
    return this.#filed.has(grantId) || this.#standing.has(grantId);
  }

  #file(filed: FiledGrant): void {
    this.#filed.set(filed.record.grantId, filed);
    this.#index.add(filed);
  }

  #drop(grantId: string): void {
    const filed = this.#filed.get(grantId);
    if (filed) this.#index.remove(filed);
    this.#filed.delete(grantId);
    this.#standing.delete(grantId);
    this.#aside.delete(grantId);
  }
}

function unmet(refusals: readonly GrantRefusal[]): Lack {
  const waits = refusals.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
  return {
    reason: "scope or constraints not satisfied",
    because: reasonsOf(refusals),
    ...(waits.length > 0 && { retryAfterMs: Math.min(...waits) }),
  };
}

function reasonsOf(refusals: readonly { reason: string }[]): string {
  return refusals.map(({ reason }) => reason).join("; ");
}

function isUnrestricted({ record, constraints }: FiledGrant): boolean {
  const { resources, actions } = record.scope;
  return resources.length === 0 && actions.length === 0 && constraints.length === 0;
}

/** Nobody takes a revocation back: a record that says so was tampered with. */
function keepRevoked<Grant extends GrantRecord>(record: Grant, known: GrantRecord | undefined): Grant {
  if (known?.revokedAt === undefined || record.revokedAt !== undefined) return record;
  return { ...record, revokedAt: known.revokedAt };
}
