import type { JsonObject, JsonValue } from "../json.ts";
import type { GRANT_TIERS } from "./approval-messages.ts";

export const GRANT_STATES = ["in_force", "revoked", "expired"] as const;

interface GrantFacts {
  grant_id: string;
  state: (typeof GRANT_STATES)[number];
  tenant_id: string;
  grantor: string;
  issued_at: string;
  expires_at?: string;
  revoked_at?: string;
  revoked_by?: string;
  revoked_because?: string;
  uses: number;
  last_used_at?: string;
}

/** Lets its grantee use a capability, within a scope. */
export interface CapabilityGrantMessage extends GrantFacts {
  kind: "capability";
  capability_id: string;
  grantee: { type: "TOOL" | "USER" | "ROLE"; id: string };
  scope: { resources: string[]; actions: string[]; conditions: { type: string; expression: string }[] };
  constraints: { type: string; value: JsonValue }[];
  delegatable: boolean;
  delegation_depth: number;
  parent_grant_id?: string;
}

/** An "always allow". */
export interface StandingGrantMessage extends GrantFacts {
  kind: "standing";
  tier: (typeof GRANT_TIERS)[number];
  tool_id: string;
  versions: string;
  operations: string[];
  arguments: { pointer: string; match: JsonObject }[];
  agent_did: string;
  session_id?: string;
  project?: string;
  approval_id?: string;
}

export type GrantMessage = CapabilityGrantMessage | StandingGrantMessage;

/** Oldest first. */
export interface GrantListResponse {
  grants: GrantMessage[];
}

/** As it stands in the address. */
export interface GrantListQuery {
  kind?: "capability" | "standing";
  state?: (typeof GRANT_STATES)[number] | "any";
}

export interface GrantRevokeQuery {
  reason?: string;
}

/** What was taken back, and which calls that ended. */
export interface GrantRevokeResponse {
  grant: GrantMessage;
  /** The ids of what was revoked now, this one first; empty when everything was revoked before. */
  revoked: string[];
  /** Calls that were ended because they rested on one of them. */
  ended_invocations: string[];
}
