import type { JsonObject, JsonValue } from "@sallyport/protocol";
import type { Changes } from "./changes.ts";

export const TIERS = ["user", "project", "operator", "organisation"] as const;
/** Whose word a rule or a standing grant is, from the weakest to the strongest. */
export type Tier = (typeof TIERS)[number];

/** Who holds a grant (RFC-0003). */
export interface Grantee {
  type: "TOOL" | "USER" | "ROLE";
  id: string;
}

export interface GrantCondition {
  type: string;
  expression: string;
}

export interface GrantScope {
  /** Globs; empty: any. */
  resources: string[];
  /** Empty: any. */
  actions: string[];
  conditions: GrantCondition[];
}

export interface GrantConstraint {
  type: string;
  value: JsonValue;
}

/** What every stored grant has. */
export interface GrantCommon {
  grantId: string;
  tenant: string;
  grantor: string;
  issuedAt: number;
  expiresAt?: number;
  revokedAt?: number;
  revokedBy?: string;
  revokedBecause?: string;
  /** Over every field but itself, the revocation, the counts and the revision. */
  signature: string;
  uses: number;
  lastUsedAt?: number;
  /** Counts the writes: one made on an older revision is refused. Counting a use is not a write. */
  revision: number;
}

/** Lets its grantee use a capability, within a scope (RFC-0003). */
export interface CapabilityGrant extends GrantCommon {
  kind: "capability";
  capabilityId: string;
  grantee: Grantee;
  scope: GrantScope;
  constraints: GrantConstraint[];
  delegatable: boolean;
  /** 0 for a grant that was issued, up to 3 for one that was delegated. */
  delegationDepth: number;
  parentGrantId?: string;
}

/** How an argument has to look for a standing grant to answer for it. */
export interface ArgumentPattern {
  /** JSON Pointer into the input. */
  pointer: string;
  match: JsonObject;
}

/** An "always allow": answers a policy's question beforehand, for calls like the one it was made for. */
export interface StandingGrant extends GrantCommon {
  kind: "standing";
  /** Never answers a question of a higher tier, and never a deny. */
  tier: Tier;
  tool: string;
  /** SemVer range. */
  versions: string;
  operations: string[];
  /** All of them have to hold; none: any arguments. */
  arguments: ArgumentPattern[];
  agent: string;
  session?: string;
  /** The folder or project it was made in. */
  project?: string;
  /** The approval it came from. */
  approvalId?: string;
}

export type GrantRecord = CapabilityGrant | StandingGrant;

export interface GrantWrite {
  record: GrantRecord;
  /** The revision the change was made on; undefined for a new record. */
  expect?: number;
}

/** How often a grant may be used at most. */
export interface UseLimit {
  /** Uses in all. */
  maxUses?: number;
  /** Uses within a sliding window; each of them holds. */
  rates?: { max: number; windowMs: number }[];
}

/**
 * A use of a stored grant. With a limit the store checks and counts it in one step: a unit beyond the limit, or whose
 * grant does not exist, is refused (`grant_spent`). Without a limit a grant that does not exist is passed over.
 */
export interface GrantUse extends UseLimit {
  grantId: string;
  at: number;
  /** Names the use, so that it can be given back. */
  callId?: string;
}

export interface GrantReader {
  get(grantId: string): Promise<GrantRecord | undefined>;
  /** Oldest first, the revoked and expired ones included; all of them without a cursor. A use is not a change. */
  changedSince(cursor?: string): Promise<Changes<GrantRecord>>;
}

/** A token that is not accepted any more, whatever it says. */
export interface Revocation {
  jti: string;
  revokedAt: number;
  by: string;
  reason: string;
  /** From here on the token has expired anyway and the entry may be forgotten. */
  forgetAt: number;
}

export interface RevocationReader {
  /** In the order they were made; every one that has not been forgotten without a cursor. */
  changedSince(cursor?: string): Promise<Changes<Revocation>>;
}
