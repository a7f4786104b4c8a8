import {
  absentOr,
  anyText,
  anyValue,
  count,
  described,
  type Field,
  listOf,
  named,
  oneOf,
  record,
  timestamp,
} from "../envelopes/field-reader.ts";
import { RISKS } from "../manifest.ts";
import {
  APPROVAL_CAUSES,
  APPROVAL_STATES,
  type ApprovalLevelMessage,
  type ApprovalListResponse,
  type ApprovalMessage,
  type ApprovalTokenResponse,
  type ApprovalVoteMessage,
  GRANT_TIERS,
} from "./approval-messages.ts";
import { nextCursorField } from "./paging.ts";

const level: Field<ApprovalLevelMessage> = record<ApprovalLevelMessage>({
  level: count,
  approvers: described(listOf(anyText), "Names, or patterns with `*`."),
  timeout_seconds: count,
  channels: absentOr(listOf(anyText)),
});

const vote: Field<ApprovalVoteMessage> = record<ApprovalVoteMessage>({
  by: anyText,
  level: count,
  at: timestamp,
  digest: anyText,
  comment: absentOr(anyText),
});

export const approvalField: Field<ApprovalMessage> = named(
  "Approval",
  record<ApprovalMessage>({
    approval_id: anyText,
    invocation_id: anyText,
    state: oneOf(APPROVAL_STATES),
    tenant_id: anyText,
    agent_did: anyText,
    user_did: absentOr(anyText),
    session_id: absentOr(anyText),
    tool_id: anyText,
    tool_version: anyText,
    operation: anyText,
    summary: described(anyText, "One line for the person who answers."),
    risk: oneOf(RISKS),
    because: described(oneOf(APPROVAL_CAUSES), "Who demands that a person is asked."),
    tier: absentOr(oneOf(GRANT_TIERS)),
    reason: anyText,
    rules: listOf(anyText),
    input: described(anyValue, "The arguments, secrets redacted."),
    effects: absentOr(described(anyValue, "What the call would change, where that was tried out.")),
    digest: described(anyText, "Of exactly what is asked; send it back to say yes to nothing else."),
    levels: listOf(level),
    present_level: count,
    quorum: described(count, "How many different people have to agree."),
    votes: listOf(vote),
    edited_by: absentOr(anyText),
    created_at: timestamp,
    expires_at: timestamp,
    settled_at: absentOr(timestamp),
    settled_by: absentOr(anyText),
    settled_because: absentOr(anyText),
  }),
);

export const approvalListResponseField: Field<ApprovalListResponse> = named(
  "ApprovalListResponse",
  record<ApprovalListResponse>({ approvals: listOf(approvalField), next_cursor: nextCursorField }),
);

export const approvalTokenResponseField: Field<ApprovalTokenResponse> = named(
  "ApprovalTokenResponse",
  record<ApprovalTokenResponse>({
    token: described(anyText, "Hand it to the approver alone; it is not shown again."),
    approval_id: anyText,
    approver: anyText,
    level: count,
    expires_at: timestamp,
  }),
);
