import type { Failure } from "@sallyport/protocol";
import type { CapabilityUse, CountedGrant } from "../../ports/authority.ts";
import type { CapabilityGrant, Grantee, GrantRecord, StandingGrant } from "../../ports/grants.ts";
import type { GrantRefusal } from "./constraint.ts";
import {
  earliest,
  type GrantQuery,
  type IndexedGrant,
  readGrant,
  refuseBeginning,
  refuseLimits,
  refuseUsing,
  useFailure,
} from "./grant-use.ts";
import { type GrantSigner, type GrantSource, invalidity, isGenuine, lineageOf } from "./grant-validity.ts";

export interface MissingCapability {
  capability: string;
  reason: "no grant found" | "no valid grant found" | "scope or constraints not satisfied";
  /** The particulars, for whoever may see them. */
  because?: string;
  /** Present when waiting until then helps (E3224). */
  freeAt?: number;
  /** Grants that would serve, but for the limit of their uses. */
  usedUp?: string[];
}

/** The capabilities that are held, by which grants, and those that are not. */
export interface HeldCapabilities {
  /** More than one grant of a capability when none of them alone is unrestricted. */
  held: { capability: string; grantId: string }[];
  missing: MissingCapability[];
}

type Missing = Omit<MissingCapability, "capability">;

export const NO_GRANT: Missing = { reason: "no grant found" };

/**
 * The stored grants, in memory, for decisions. Only grants that the signer verifies count; without a signer none does. A
 * revocation that was seen once stays, whatever a later record says.
 */
export class GrantIndex {
  readonly #signer: GrantSigner | undefined;
  readonly #grants = new Map<string, IndexedGrant>();
  /** By tenant, holder and capability; oldest first. */
  readonly #byHolder = new Map<string, IndexedGrant[]>();
  readonly #standing = new Map<string, StandingGrant>();
  /** Grants that may have changed count for nothing until they are read again. The value is the latest doubt. */
  readonly #doubts = new Map<string, object>();
  readonly #source: GrantSource = {
    find: (grantId) => (this.#doubts.has(grantId) ? undefined : this.#grants.get(grantId)?.record),
    isGenuine: ({ grantId }) => this.#grants.get(grantId)?.genuine === true,
  };

  constructor(signer: GrantSigner | undefined) {
    this.#signer = signer;
  }

  /** Replaces everything by what the store holds; counts of grants that stay go on. */
  load(records: Iterable<GrantRecord>): void {
    const kept = [...records];
    const ids = new Set(kept.map(({ grantId }) => grantId));
    for (const grantId of [...this.#grants.keys(), ...this.#standing.keys()]) {
      if (!ids.has(grantId)) this.#drop(grantId);
    }
    for (const record of kept) this.put(record);
  }

  /** Takes a new or changed grant, which counts from here on; one older than the one here is passed over. */
  put(record: GrantRecord): void {
    if (this.take(record)) this.#doubts.delete(record.grantId);
  }

  /** As `put`, for a record that was read from the store: a doubt about it stays. False: it was passed over. */
  take(given: GrantRecord): boolean {
    const { grantId } = given;
    const before = this.#grants.get(grantId);
    const known = before?.record ?? this.#standing.get(grantId);
    if (known && known.revision > given.revision) return false;
    const record = keepRevoked(structuredClone(given), known);
    const genuine = this.#signer !== undefined && isGenuine(record, this.#signer);
    const doubt = this.#doubts.get(grantId);
    this.#drop(grantId);
    if (record.kind === "capability") this.#add(readGrant(record, genuine, before?.tally));
    else if (genuine) this.#standing.set(grantId, record);
    if (doubt) this.#doubts.set(grantId, doubt);
    return true;
  }

  /** Grants that may have changed, all of them when none is named, count for nothing until they have been read. */
  doubt(grantIds: Iterable<string> = [...this.#grants.keys(), ...this.#standing.keys()]): void {
    const doubt = {};
    for (const grantId of grantIds) if (this.#isKnown(grantId)) this.#doubts.set(grantId, doubt);
  }

  /** To be called before the store is read, and what it returns afterwards: that ends the doubts there were before. */
  beforeReading(): () => void {
    const doubts = [...this.#doubts];
    return () => {
      for (const [grantId, doubt] of doubts) {
        if (this.#doubts.get(grantId) === doubt) this.#doubts.delete(grantId);
      }
    };
  }

  /** Which of the required capabilities are held now, by which grants, and why the others are not. */
  capabilitiesFor(query: GrantQuery, required: readonly string[]): HeldCapabilities {
    const answer: HeldCapabilities = { held: [], missing: [] };
    for (const capability of required) {
      const found = this.#grants.size === 0 ? NO_GRANT : this.#serving(query, capability);
      if ("reason" in found) answer.missing.push({ capability, ...found });
      else answer.held.push(...found.map(({ record }) => ({ capability, grantId: record.grantId })));
    }
    return answer;
  }

  /**
   * Counts a call that is about to run on these grants and on those they were delegated from, unless their limits are
   * reached: checked and counted in one step. Returns the grants the call rests on then: of several that give one
   * capability, those that are used up are left out. A refusal when a capability has none left; then nothing is counted.
   */
  reserve(grantIds: readonly string[], call: { callId: string; at: number }): string[] | GrantRefusal {
    const refusals = new Map<string, GrantRefusal>();
    const given = grantIds.flatMap((grantId) => this.#grants.get(grantId)?.record ?? []);
    for (const record of given) {
      const refused = refuseLimits(this.#line(record), call);
      if (refused) refusals.set(record.grantId, refused);
    }
    const served = new Set(
      given.flatMap(({ grantId, capabilityId }) => (refusals.has(grantId) ? [] : capabilityId)),
    );
    const unserved = given.find(({ capabilityId }) => !served.has(capabilityId));
    const refused = unserved && refusals.get(unserved.grantId);
    if (refused) return refused;
    const kept = grantIds.filter((grantId) => !refusals.has(grantId));
    for (const { tally } of this.#lines(kept)) tally.begin(call.callId, call.at);
    return kept;
  }

  /** Takes back what a call that never started was counted for; `grantIds` with those they were delegated from. */
  release(grantIds: readonly string[], callId: string): void {
    for (const grantId of grantIds) this.#grants.get(grantId)?.tally.release(callId);
  }

  /**
   * Why a running tool may not use a capability this way, judged by those of the call's grants that give it: E3212
   * beyond their scope, E3217 when none of them counts any more, E3224 when waiting would help. A use that is allowed is
   * counted. Undefined also when none of the grants is about the capability.
   */
  refuseUse(use: CapabilityUse, grantIds: readonly string[]): Failure | undefined {
    const own = grantIds.flatMap((grantId) => this.#grants.get(grantId) ?? []);
    const giving = own.filter(({ record }) => record.capabilityId === use.capability);
    const refusals: GrantRefusal[] = giving.length === 0 ? this.#vanished(grantIds) : [];
    for (const { record } of giving) {
      const line = this.#validLine(record, use.at);
      const refused = Array.isArray(line) ? refuseUsing(line, use) : line;
      if (!refused) {
        for (const { tally } of this.#line(record)) tally.use(use.callId, use.at);
        return undefined;
      }
      refusals.push(refused);
    }
    return refusals.length === 0 ? undefined : useFailure(use, refusals);
  }

  /** The genuine standing grants, oldest first; whether one is still in force depends on the moment. */
  standing(): StandingGrant[] {
    return [...this.#standing.values()].filter(({ grantId }) => !this.#doubts.has(grantId));
  }

  /** The grants and all they were delegated from, with their limits: what a call that rests on them uses. */
  counted(grantIds: readonly string[]): CountedGrant[] {
    const standing = grantIds.filter((grantId) => this.#standing.has(grantId));
    return [
      ...standing.map((grantId) => ({ grantId })),
      ...this.#lines(grantIds).map(({ record, limit }) => ({ grantId: record.grantId, ...limit })),
    ];
  }

  #serving(query: GrantQuery, capability: string): IndexedGrant[] | Missing {
    const given = this.#heldBy(query, capability);
    if (given.length === 0) return NO_GRANT;
    const lines = given.map(({ record }) => this.#validLine(record, query.request.at));
    const valid = lines.filter((line) => Array.isArray(line));
    if (valid.length === 0) {
      const invalid = lines.filter((line) => "reason" in line);
      return { reason: "no valid grant found", because: reasonsOf(invalid) };
    }
    const judged = valid.map((line) => ({ line, refused: refuseBeginning(line, query) }));
    const serving = judged.flatMap(({ line, refused }) => (refused ? [] : line.slice(0, 1)));
    if (serving.length === 0) return unmet(judged.flatMap(({ refused }) => refused ?? []));
    const enough = serving.findIndex(isUnrestricted);
    return enough === -1 ? serving : serving.slice(0, enough + 1);
  }

  /** Grants of the tool, then of the user, then of the roles. */
  #heldBy({ request, roles = [] }: GrantQuery, capability: string): IndexedGrant[] {
    const { tool, caller } = request;
    const { tenant, user } = caller;
    const holders: Grantee[] = [
      { type: "TOOL", id: tool },
      ...(user === undefined ? [] : [{ type: "USER" as const, id: user }]),
      ...roles.map((id) => ({ type: "ROLE" as const, id })),
    ];
    return holders.flatMap((holder) => this.#byHolder.get(holderKey(tenant, holder, capability)) ?? []);
  }

  #validLine(grant: CapabilityGrant, at: number): IndexedGrant[] | GrantRefusal {
    const { grantId } = grant;
    const reason = this.#doubts.has(grantId) ? `${grantId} was changed` : invalidity(grant, this.#source, at);
    return reason === undefined ? this.#line(grant) : { isOver: true, reason };
  }

  #line(grant: CapabilityGrant): IndexedGrant[] {
    const line = lineageOf(grant, (grantId) => this.#grants.get(grantId)?.record) ?? [grant];
    return line.flatMap(({ grantId }) => this.#grants.get(grantId) ?? []);
  }

  #lines(grantIds: readonly string[]): IndexedGrant[] {
    const found = grantIds.flatMap((grantId) => this.#grants.get(grantId) ?? []);
    return [...new Set(found.flatMap(({ record }) => this.#line(record)))];
  }

  #vanished(grantIds: readonly string[]): GrantRefusal[] {
    const gone = grantIds.filter((grantId) => !this.#isKnown(grantId));
    return gone.map((grantId) => ({ isOver: true, reason: `${grantId} is not stored any more` }));
  }

  #isKnown(grantId: string): boolean {
    return this.#grants.has(grantId) || this.#standing.has(grantId);
  }

  #add(grant: IndexedGrant): void {
    this.#grants.set(grant.record.grantId, grant);
    const key = keyOf(grant);
    this.#byHolder.set(key, [...(this.#byHolder.get(key) ?? []), grant].sort(byAge));
  }

  #drop(grantId: string): void {
    const grant = this.#grants.get(grantId);
    if (grant) {
      const key = keyOf(grant);
      const left = (this.#byHolder.get(key) ?? []).filter((other) => other !== grant);
      if (left.length > 0) this.#byHolder.set(key, left);
      else this.#byHolder.delete(key);
    }
    this.#grants.delete(grantId);
    this.#standing.delete(grantId);
    this.#doubts.delete(grantId);
  }
}

function keyOf({ record }: IndexedGrant): string {
  return holderKey(record.tenant, record.grantee, record.capabilityId);
}

function holderKey(tenant: string, { type, id }: Grantee, capability: string): string {
  return JSON.stringify([tenant, type, id, capability]);
}

function byAge({ record: a }: IndexedGrant, { record: b }: IndexedGrant): number {
  return a.issuedAt - b.issuedAt || (a.grantId < b.grantId ? -1 : 1);
}

function unmet(refusals: readonly GrantRefusal[]): Missing {
  const freeAt = earliest(refusals);
  const usedUp = [...new Set(refusals.flatMap(({ isUsedUp, grantId }) => (isUsedUp && grantId) ?? []))];
  return {
    reason: "scope or constraints not satisfied",
    because: reasonsOf(refusals),
    ...(freeAt !== undefined && { freeAt }),
    ...(usedUp.length > 0 && { usedUp }),
  };
}

function reasonsOf(refusals: readonly GrantRefusal[]): string {
  return refusals.map(({ reason }) => reason).join("; ");
}

function isUnrestricted({ record, constraints }: IndexedGrant): boolean {
  const { resources, actions } = record.scope;
  return resources.length === 0 && actions.length === 0 && constraints.length === 0;
}

/** Nobody takes a revocation back: a record that says so was tampered with. */
function keepRevoked<Grant extends GrantRecord>(record: Grant, known: GrantRecord | undefined): Grant {
  if (known?.revokedAt === undefined || record.revokedAt !== undefined) return record;
  return { ...record, revokedAt: known.revokedAt };
}
