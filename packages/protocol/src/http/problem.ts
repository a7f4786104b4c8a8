import {
  absentOr,
  anyObject,
  anyText,
  count,
  described,
  type Field,
  flag,
  type Infer,
  listOf,
  named,
  nameText,
  record,
  wholeNumberText,
} from "../fields.ts";

const issueField = named(
  "Issue",
  record({
    path: described(anyText, "JSON Pointer to the wrong place; empty for the whole."),
    reason: anyText,
    suggestion: absentOr(anyText),
  }),
);

export const problemField = named(
  "Problem",
  record({
    type: described(anyText, "Where the error is explained, such as /docs/errors#E3903."),
    title: anyText,
    status: count,
    detail: described(anyText, "What is wrong with this request."),
    instance: described(anyText, "Names this occurrence, for logs and reports."),
    code: described(anyText, "The code of the error catalogue; it never changes its meaning."),
    advice: described(anyText, "What to do about it."),
    retryable: described(flag, "Whether the same request may succeed later."),
    issues: absentOr(listOf(issueField), "Every wrong place."),
    details: absentOr(anyObject),
  }),
);
/** How the HTTP door refuses a request (RFC 9457). */
export type Problem = Infer<typeof problemField>;

/** Where the last page ended; opaque to clients. */
export const cursorField: Field<string | undefined> = absentOr(
  nameText,
  "`next_cursor` of the page before; left out: the first page.",
);

/** How many entries a page has at most; 50 when left out. */
export const limitField: Field<string | undefined> = absentOr(
  wholeNumberText({ minimum: 1, maximum: 200 }),
  "Entries a page, 50 when left out.",
);

export const nextCursorField: Field<string | undefined> = absentOr(
  nameText,
  "For the next page; absent on the last.",
);
