import { type Failure, failure, type Issue } from "../errors/failure.ts";
import { isJsonObject, type JsonObject } from "../json.ts";

/** Past this many a message is not going to be repaired by hand; it also bounds what a hostile one costs. */
const MAX_ISSUES = 100;
const MAX_TEXT = 512;

/** Judges one field. It reports what is wrong to `issues` and goes on, so that a sender sees every mistake at once. */
export type Field<T> = (value: unknown, path: string, issues: Issue[]) => value is T;

type Fields<T> = { [K in keyof T]-?: Field<T[K]> };

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

/** A field that may be absent or null, which is how some senders write absent. */
export function optional<T>(field: Field<T>): Field<T | null | undefined> {
  return (value, path, issues): value is T | null | undefined =>
    value === undefined || value === null || field(value, path, issues);
}

/** An object with these fields; others are passed over, as a later minor version may add some. */
export function record<T>(fields: Fields<T>): Field<T> {
  const entries = Object.entries<Field<unknown>>(fields);
  return (value, path, issues): value is T => {
    if (!isJsonObject(value)) return reject(issues, path, wrong(value, "an object"));
    const verdicts = entries.map(([name, field]) => field(value[name], `${path}/${name}`, issues));
    return verdicts.every(Boolean);
  };
}

/** An object with these fields and no other: a misspelt constraint must not be dropped in silence. */
export function exactRecord<T>(fields: Fields<T>): Field<T> {
  const known = record(fields);
  return (value, path, issues): value is T => {
    const unknown = isJsonObject(value)
      ? Object.keys(value).filter((name) => !Object.hasOwn(fields, name))
      : [];
    const suggestion = `Known here: ${Object.keys(fields).join(", ")}.`;
    for (const name of unknown) {
      reject(issues, `${path}/${escapeToken(name)}`, "is not a known field", suggestion);
    }
    return known(value, path, issues) && unknown.length === 0;
  };
}

/** Builds a field from a plain test; `wanted` completes the sentence "must be …". */
function simple<T>(wanted: string, fits: (value: unknown) => value is T): Field<T> {
  return (value, path, issues): value is T => fits(value) || reject(issues, path, wrong(value, wanted));
}

function reject(issues: Issue[], path: string, reason: string, suggestion?: string): false {
  if (issues.length < MAX_ISSUES) issues.push({ path, reason, ...(suggestion && { suggestion }) });
  return false;
}

function wrong(value: unknown, wanted: string): string {
  return value === undefined ? `is missing; must be ${wanted}` : `must be ${wanted}`;
}

function escapeToken(name: string): string {
  return name.slice(0, MAX_TEXT).replaceAll("~", "~0").replaceAll("/", "~1");
}

/** A non-empty string of at most 512 characters: ids and names. */
export const text: Field<string> = simple(
  `a string of 1 to ${MAX_TEXT} characters`,
  (value): value is string => typeof value === "string" && value.length > 0 && value.length <= MAX_TEXT,
);

/** For tokens and free text, whose length only the message size bounds. */
export const anyText: Field<string> = simple("a string", (value) => typeof value === "string");

export const flag: Field<boolean> = simple("true or false", (value) => typeof value === "boolean");

export const positiveInteger: Field<number> = simple(
  "a whole number above zero",
  (value): value is number => Number.isSafeInteger(value) && Number(value) > 0,
);

export const anyObject: Field<JsonObject> = simple("an object", isJsonObject);

/** A string that matches `pattern`; `wanted` says in words what that is. */
export function matching(pattern: RegExp, wanted: string): Field<string> {
  return simple(wanted, (value): value is string => typeof value === "string" && pattern.test(value));
}

const ISO_8601 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** A date and time with its zone. */
export const timestamp: Field<string> = simple(
  "an ISO 8601 date and time with a zone",
  (value): value is string =>
    typeof value === "string" && ISO_8601.test(value) && !Number.isNaN(Date.parse(value)),
);

/** One of these words exactly. */
export function oneOf<W extends string>(words: readonly W[]): Field<W> {
  return simple(`one of ${words.join(", ")}`, (value): value is W => words.some((word) => word === value));
}

/** A list whose every item fits; each that does not is named. */
export function listOf<T>(item: Field<T>): Field<T[]> {
  return (value, path, issues): value is T[] => {
    if (!Array.isArray(value)) return reject(issues, path, wrong(value, "a list"));
    const verdicts = value.map((entry, index) => item(entry, `${path}/${index}`, issues));
    return verdicts.every(Boolean);
  };
}
