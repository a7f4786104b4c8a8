import {
  absentOr,
  anyObject,
  anyText,
  count,
  described,
  type Field,
  flag,
  listOf,
  named,
  record,
} from "../envelopes/field-reader.ts";
import type { Issue } from "../errors/failure.ts";
import type { JsonObject } from "../json.ts";

/** How the HTTP door refuses a request (RFC 9457). */
export interface Problem {
  /** A relative reference to the error's entry in the readable catalogue. */
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  /** The code of the error catalogue. */
  code: string;
  advice: string;
  retryable: boolean;
  issues?: Issue[];
  details?: JsonObject;
}

const issueField: Field<Issue> = named(
  "Issue",
  record<Issue>({
    path: described(anyText, "JSON Pointer to the wrong place; empty for the whole."),
    reason: anyText,
    suggestion: absentOr(anyText),
  }),
);

export const problemField: Field<Problem> = named(
  "Problem",
  record<Problem>({
    type: described(anyText, "Where the error is explained, such as /docs/errors#E3903."),
    title: anyText,
    status: count,
    detail: described(anyText, "What is wrong with this request."),
    instance: described(anyText, "Names this occurrence, for logs and reports."),
    code: described(anyText, "The code of the error catalogue; it never changes its meaning."),
    advice: described(anyText, "What to do about it."),
    retryable: described(flag, "Whether the same request may succeed later."),
    issues: absentOr(described(listOf(issueField), "Every wrong place.")),
    details: absentOr(anyObject),
  }),
);
