import {
  absentOr,
  anyObject,
  anyText,
  anyValue,
  described,
  either,
  exactRecord,
  exampled,
  type Field,
  listOf,
  named,
  nameText,
  oneOf,
  optional,
  positiveInteger,
  text,
  textUpTo,
  wholeNumber,
} from "../envelopes/field-reader.ts";
import {
  type AlwaysMessage,
  APPROVAL_STATES,
  type ApprovalListQuery,
  type ApprovalTokenRequest,
  type ApproveRequest,
  type DenyRequest,
  type EditRequest,
} from "./approval-messages.ts";
import { cursorField, limitField } from "./paging.ts";

/** Which approval an address names. */
export const approvalParamsField: Field<{ approval_id: string }> = exactRecord<{ approval_id: string }>({
  approval_id: described(nameText, "The approval's id."),
});

export const approvalListQueryField: Field<ApprovalListQuery> = exactRecord<ApprovalListQuery>({
  state: absentOr(
    described(
      oneOf([...APPROVAL_STATES, "open"]),
      "Only those that stand so; `open`, which is what is listed when left out: not settled yet.",
    ),
  ),
  tenant: absentOr(described(nameText, "Only those of this tenant.")),
  cursor: cursorField,
  limit: limitField,
});

const comment = textUpTo(2_000);

const patterns = listOf(
  exactRecord<{ pointer: string; match: AlwaysPattern }>({
    pointer: described(anyText, "JSON Pointer into the input."),
    match: described(anyObject, 'A test, such as {"glob": "docs/*"}.'),
  }),
);
type AlwaysPattern = Extract<AlwaysMessage["arguments"], unknown[]>[number]["match"];

const always: Field<AlwaysMessage> = named(
  "AlwaysAllow",
  exactRecord<AlwaysMessage>({
    arguments: described(
      either(oneOf<"exact" | "any">(["exact", "any"]), patterns),
      "`exact`: these arguments only; `any`: whatever they are; or how they have to look.",
    ),
    agent: optional(described(oneOf(["this", "any"]), "Whose calls; `this` when left out.")),
    session: optional(described(oneOf(["this"]), "Only in the same session.")),
    versions: optional(described(nameText, "A SemVer range; left out: versions compatible with this one.")),
    expires_in_seconds: optional(positiveInteger),
  }),
);

/** The body of a yes; there need not be one. */
export const approveRequestField: Field<ApproveRequest | null | undefined> = optional(
  named(
    "ApproveRequest",
    exampled(
      exactRecord<ApproveRequest>({
        comment: optional(described(comment, "Goes on record.")),
        digest: optional(
          described(text, "Of the question as it was seen; needed once somebody changed the arguments."),
        ),
        always: optional(described(always, "Say yes to calls like this one from now on, too.")),
      }),
      { comment: "Looks right." },
    ),
  ),
);

export const denyRequestField: Field<DenyRequest> = named(
  "DenyRequest",
  exampled(
    exactRecord<DenyRequest>({ reason: described(comment, "What is wrong with it; the caller is told.") }),
    { reason: "Not this account." },
  ),
);

export const editRequestField: Field<EditRequest> = named(
  "EditRequest",
  exampled(
    exactRecord<EditRequest>({
      input: described(anyValue, "The whole new input; it is checked and authorised like any other."),
    }),
    { input: { a: 1, b: 2 } },
  ),
);

export const approvalTokenRequestField: Field<ApprovalTokenRequest> = named(
  "ApprovalTokenRequest",
  exampled(
    exactRecord<ApprovalTokenRequest>({
      approver: described(nameText, "The person's name, as the approval's levels list it."),
      level: optional(
        described(wholeNumber("a level", { minimum: 1, maximum: 100 }), "The present one when left out."),
      ),
      expires_in_seconds: optional(
        described(positiveInteger, "Left out, or longer than the approval lives: as long as that."),
      ),
    }),
    { approver: "ann" },
  ),
);
