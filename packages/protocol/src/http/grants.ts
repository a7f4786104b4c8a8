import {
  absentOr,
  anyObject,
  anyText,
  anyValue,
  count,
  described,
  exactRecord,
  flag,
  type Infer,
  listOf,
  named,
  nameText,
  oneOf,
  record,
  text,
  timestamp,
  variants,
} from "../fields.ts";
import { GRANT_TIERS } from "./approvals.ts";

export const GRANT_STATES = ["in_force", "revoked", "expired"] as const;

/** Which grant an address names. */
export const grantParamsField = exactRecord({ grant_id: described(nameText, "The grant's id.") });

export const grantListQueryField = exactRecord({
  kind: absentOr(oneOf(["capability", "standing"]), "Only one kind."),
  state: absentOr(oneOf([...GRANT_STATES, "any"]), "Only those that stand so; `in_force` when left out."),
});

export const grantRevokeQueryField = exactRecord({ reason: absentOr(text, "Why; goes on record.") });

const facts = {
  grant_id: anyText,
  state: oneOf(GRANT_STATES),
  tenant_id: anyText,
  grantor: anyText,
  issued_at: timestamp,
  expires_at: absentOr(timestamp),
  revoked_at: absentOr(timestamp),
  revoked_by: absentOr(anyText),
  revoked_because: absentOr(anyText),
  uses: count,
  last_used_at: absentOr(timestamp),
};

const capability = named(
  "CapabilityGrant",
  record({
    ...facts,
    kind: oneOf(["capability"]),
    capability_id: anyText,
    grantee: record({ type: oneOf(["TOOL", "USER", "ROLE"]), id: anyText }),
    scope: record({
      resources: listOf(anyText),
      actions: listOf(anyText),
      conditions: listOf(record({ type: anyText, expression: anyText })),
    }),
    constraints: listOf(record({ type: anyText, value: anyValue })),
    delegatable: flag,
    delegation_depth: count,
    parent_grant_id: absentOr(anyText),
  }),
);
/** Lets its grantee use a capability, within a scope. */
export type CapabilityGrantMessage = Infer<typeof capability>;

const standing = named(
  "StandingGrant",
  record({
    ...facts,
    kind: oneOf(["standing"]),
    tier: oneOf(GRANT_TIERS),
    tool_id: anyText,
    versions: anyText,
    operations: listOf(anyText),
    arguments: listOf(record({ pointer: anyText, match: anyObject })),
    agent_did: anyText,
    session_id: absentOr(anyText),
    project: absentOr(anyText),
    approval_id: absentOr(anyText),
  }),
);
/** An "always allow". */
export type StandingGrantMessage = Infer<typeof standing>;

export const grantField = named("Grant", variants("kind", { capability, standing }));
export type GrantMessage = Infer<typeof grantField>;

/** Oldest first. */
export const grantListResponseField = named("GrantListResponse", record({ grants: listOf(grantField) }));

export const grantRevokeResponseField = named(
  "GrantRevokeResponse",
  record({
    grant: grantField,
    revoked: described(listOf(anyText), "What was revoked now, this one first; delegated ones follow."),
    ended_invocations: described(
      listOf(anyText),
      "Calls that were ended because they rested on one of them.",
    ),
  }),
);
/** What was taken back, and which calls that ended; `revoked` is empty when everything was revoked before. */
export type GrantRevokeResponse = Infer<typeof grantRevokeResponseField>;
