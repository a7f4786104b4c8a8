import { type Failure, failure, type Issue } from "./errors/catalogue.ts";
import type { Field } from "./fields.ts";

// Not in fields.ts: a worker reads messages without the error catalogue, and starts the sooner for it.

/** A refused message is a value, not an exception. */
export type Decoded<T> = { ok: true; request: T } | { ok: false; failure: Failure };

/** The request when every field fits, else an E3903 that names each one that does not. Never throws. */
export function decode<T>(value: unknown, field: Field<T>): Decoded<T> {
  const issues: Issue[] = [];
  if (field(value, "", issues)) return { ok: true, request: value };
  return { ok: false, failure: failure("E3903", { message: summary(issues), issues }) };
}

function summary(issues: readonly Issue[]): string {
  const places = issues.slice(0, 5).map((issue) => issue.path || "the whole message");
  const rest = issues.length > 5 ? ` and ${issues.length - 5} more` : "";
  return `Malformed request: ${places.join(", ")}${rest}`;
}
