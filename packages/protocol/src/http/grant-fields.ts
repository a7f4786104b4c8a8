import {
  absentOr,
  anyObject,
  anyText,
  anyValue,
  count,
  described,
  exactRecord,
  type Field,
  flag,
  listOf,
  named,
  nameText,
  oneOf,
  record,
  text,
  timestamp,
  variants,
} from "../envelopes/field-reader.ts";
import { GRANT_TIERS } from "./approval-messages.ts";
import {
  type CapabilityGrantMessage,
  GRANT_STATES,
  type GrantListQuery,
  type GrantListResponse,
  type GrantMessage,
  type GrantRevokeQuery,
  type GrantRevokeResponse,
  type StandingGrantMessage,
} from "./grant-messages.ts";

/** Which grant an address names. */
export const grantParamsField: Field<{ grant_id: string }> = exactRecord<{ grant_id: string }>({
  grant_id: described(nameText, "The grant's id."),
});

export const grantListQueryField: Field<GrantListQuery> = exactRecord<GrantListQuery>({
  kind: absentOr(described(oneOf(["capability", "standing"]), "Only one kind.")),
  state: absentOr(
    described(oneOf([...GRANT_STATES, "any"]), "Only those that stand so; `in_force` when left out."),
  ),
});

export const grantRevokeQueryField: Field<GrantRevokeQuery> = exactRecord<GrantRevokeQuery>({
  reason: absentOr(described(text, "Why; goes on record.")),
});

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

type Capability = CapabilityGrantMessage;

const capability: Field<Capability> = named(
  "CapabilityGrant",
  record<Capability>({
    ...facts,
    kind: oneOf(["capability"]),
    capability_id: anyText,
    grantee: record<Capability["grantee"]>({ type: oneOf(["TOOL", "USER", "ROLE"]), id: anyText }),
    scope: record<Capability["scope"]>({
      resources: listOf(anyText),
      actions: listOf(anyText),
      conditions: listOf(
        record<{ type: string; expression: string }>({ type: anyText, expression: anyText }),
      ),
    }),
    constraints: listOf(record<Capability["constraints"][number]>({ type: anyText, value: anyValue })),
    delegatable: flag,
    delegation_depth: count,
    parent_grant_id: absentOr(anyText),
  }),
);

const standing: Field<StandingGrantMessage> = named(
  "StandingGrant",
  record<StandingGrantMessage>({
    ...facts,
    kind: oneOf(["standing"]),
    tier: oneOf(GRANT_TIERS),
    tool_id: anyText,
    versions: anyText,
    operations: listOf(anyText),
    arguments: listOf(
      record<StandingGrantMessage["arguments"][number]>({ pointer: anyText, match: anyObject }),
    ),
    agent_did: anyText,
    session_id: absentOr(anyText),
    project: absentOr(anyText),
    approval_id: absentOr(anyText),
  }),
);

export const grantField: Field<GrantMessage> = named(
  "Grant",
  variants<GrantMessage>("kind", { capability, standing }),
);

export const grantListResponseField: Field<GrantListResponse> = named(
  "GrantListResponse",
  record<GrantListResponse>({ grants: listOf(grantField) }),
);

export const grantRevokeResponseField: Field<GrantRevokeResponse> = named(
  "GrantRevokeResponse",
  record<GrantRevokeResponse>({
    grant: grantField,
    revoked: described(listOf(anyText), "What was revoked now, this one first; delegated ones follow."),
    ended_invocations: described(
      listOf(anyText),
      "Calls that were ended because they rested on one of them.",
    ),
  }),
);
