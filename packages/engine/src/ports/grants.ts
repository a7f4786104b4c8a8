import type { JsonObject, JsonValue } from "@sallyport/protocol";
import type { Tier } from "./policy.ts";

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

interface GrantCommon {
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

/** Counts a use of a stored grant; one that is gone is passed over. */
export interface GrantUse {
  grantId: string;
  at: number;
}

export interface GrantReader {
  get(grantId: string): Promise<GrantRecord | undefined>;
  /** All of them, oldest first, the revoked and expired ones included. */
  all(): Promise<GrantRecord[]>;
}
