import {
  absentOr,
  anyObject,
  anyText,
  anyValue,
  count,
  described,
  either,
  exactRecord,
  exampled,
  type Infer,
  listOf,
  named,
  nameText,
  oneOf,
  optional,
  positiveInteger,
  record,
  text,
  textUpTo,
  timestamp,
  wholeNumber,
} from "../fields.ts";
import { RISKS } from "../manifest.ts";
import { cursorField, limitField, nextCursorField } from "./problem.ts";

const APPROVAL_STATES = [
  "pending",
  "approved",
  "edited",
  "reserved",
  "consumed",
  "denied",
  "expired",
  "withdrawn",
  "void",
] as const;

const APPROVAL_CAUSES = ["policy", "tool", "caller"] as const;
export const GRANT_TIERS = ["user", "project", "operator", "organisation"] as const;

const level = record({
  level: count,
  approvers: described(listOf(anyText), "Names, or patterns with `*`."),
  timeout_seconds: count,
  channels: absentOr(listOf(anyText)),
});

const vote = record({
  by: anyText,
  level: count,
  at: timestamp,
  digest: anyText,
  comment: absentOr(anyText),
});

export const approvalField = named(
  "Approval",
  record({
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
    effects: absentOr(anyValue, "What the call would change, where that was tried out."),
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
/** A question to a person about one call, and its answer. */
export type ApprovalMessage = Infer<typeof approvalField>;

export const approvalListResponseField = named(
  "ApprovalListResponse",
  record({ approvals: listOf(approvalField), next_cursor: nextCursorField }),
);
/** A page of approvals, newest first. */
export type ApprovalListResponse = Infer<typeof approvalListResponseField>;

export const approvalTokenResponseField = named(
  "ApprovalTokenResponse",
  record({
    token: described(anyText, "Hand it to the approver alone; it is not shown again."),
    approval_id: anyText,
    approver: anyText,
    level: count,
    expires_at: timestamp,
  }),
);
/** A token that lets one person answer one approval. */
export type ApprovalTokenResponse = Infer<typeof approvalTokenResponseField>;

/** Which approval an address names. */
export const approvalParamsField = exactRecord({ approval_id: described(nameText, "The approval's id.") });

export const approvalListQueryField = exactRecord({
  state: absentOr(
    oneOf([...APPROVAL_STATES, "open"]),
    "Only those that stand so; `open`, which is what is listed when left out: not settled yet.",
  ),
  tenant: absentOr(nameText, "Only those of this tenant."),
  cursor: cursorField,
  limit: limitField,
});
/** As it stands in the address. `open`: pending, or approved and not run yet. */
export type ApprovalListQuery = Infer<typeof approvalListQueryField>;

const comment = textUpTo(2_000);

const seenDigest = optional(
  text,
  "Digest of the question that the approver saw; required once an approver changed the arguments.",
);

const patterns = listOf(
  exactRecord({
    pointer: described(anyText, "JSON Pointer into the input."),
    match: described(anyObject, 'A test, such as {"glob": "docs/*"}.'),
  }),
);

const always = named(
  "AlwaysAllow",
  exactRecord({
    arguments: described(
      either(oneOf<"exact" | "any">(["exact", "any"]), patterns),
      "`exact`: these arguments only; `any`: whatever they are; or how they have to look.",
    ),
    agent: optional(oneOf(["this", "any"]), "Whose calls; `this` when left out."),
    session: optional(oneOf(["this"]), "Only in the same session."),
    versions: optional(nameText, "A SemVer range; left out: versions compatible with this one."),
    expires_in_seconds: optional(positiveInteger),
  }),
);
/** Which later calls an "always" approves. */
export type AlwaysMessage = Infer<typeof always>;

/** The body of an approval; it is optional. */
export const approveRequestField = optional(
  named(
    "ApproveRequest",
    exampled(
      exactRecord({
        comment: optional(comment, "Goes on record."),
        digest: seenDigest,
        always: optional(always, "Say yes to calls like this one from now on, too."),
      }),
      { comment: "Looks right." },
    ),
  ),
);

export const denyRequestField = named(
  "DenyRequest",
  exampled(exactRecord({ reason: described(comment, "What is wrong with it; the caller is told.") }), {
    reason: "Not this account.",
  }),
);

export const editRequestField = named(
  "EditRequest",
  exampled(
    exactRecord({
      input: described(anyValue, "The whole new input; it is checked and authorised like any other."),
      digest: seenDigest,
    }),
    { input: { a: 1, b: 2 } },
  ),
);

export const approvalTokenRequestField = named(
  "ApprovalTokenRequest",
  exampled(
    exactRecord({
      approver: described(nameText, "The person's name, as the approval's levels list it."),
      level: optional(wholeNumber("a level", { minimum: 1, maximum: 100 }), "The present one when left out."),
      expires_in_seconds: optional(
        positiveInteger,
        "Left out, or longer than the approval lives: as long as that.",
      ),
    }),
    { approver: "ann" },
  ),
);
export type ApprovalTokenRequest = Infer<typeof approvalTokenRequestField>;
