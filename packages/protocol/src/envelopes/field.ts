import { type Failure, failure, type Issue } from "../errors/failure.ts";
import type { JsonSchema, JsonValue } from "../json.ts";

/** Past this many a message is not going to be repaired by hand; it also bounds what a hostile one costs. */
const MAX_ISSUES = 100;
const MAX_NAME = 512;

type Judge<T> = (value: unknown, path: string, issues: Issue[]) => value is T;

/**
 * Judges one part of a message. It reports what is wrong to `issues` and goes on, so that a sender sees every mistake at
 * once. Its schema says the same in JSON Schema 2020-12: what the one takes of JSON the other takes, so that a
 * description made of schemas cannot differ from what is really read.
 */
export interface Field<T> {
  (value: unknown, path: string, issues: Issue[]): value is T;
  readonly schema: JsonSchema;
  /** Set when it also takes a part that is left out. */
  readonly mayBeAbsent?: true;
}

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

/** Joins a judgement to the schema that says the same. */
export function fieldOf<T>(
  schema: JsonSchema,
  judge: Judge<T>,
  { mayBeAbsent = false }: { mayBeAbsent?: boolean } = {},
): Field<T> {
  const own: Judge<T> = (value, path, issues): value is T => judge(value, path, issues);
  return Object.assign(own, { schema }, mayBeAbsent && { mayBeAbsent: true as const });
}

/** Builds a field from a plain test; `wanted` completes the sentence "must be …". */
export function simple<T>(
  wanted: string,
  schema: JsonSchema,
  fits: (value: unknown) => value is T,
): Field<T> {
  return fieldOf(
    schema,
    (value, path, issues): value is T => fits(value) || reject(issues, path, wrong(value, wanted)),
  );
}

/** The same field, with a sentence for the reader of its description. */
export function described<T>(field: Field<T>, description: string): Field<T> {
  const { schema } = field;
  // A named shape is described once, where it is defined; what is said here is about its place.
  const said = schema.title === undefined ? { ...schema, description } : { allOf: [schema], description };
  return fieldOf(said, field, { mayBeAbsent: field.mayBeAbsent === true });
}

/** The same field under a name: a description of many messages then shows its shape once. */
export function named<T>(title: string, field: Field<T>): Field<T> {
  return fieldOf({ title, ...field.schema }, field, { mayBeAbsent: field.mayBeAbsent === true });
}

/** The same field, with an example for the reader of its description. */
export function exampled<T>(field: Field<T>, example: JsonValue): Field<T> {
  const schema = { ...field.schema, examples: [example] };
  return fieldOf(schema, field, { mayBeAbsent: field.mayBeAbsent === true });
}

/** Notes what is wrong, as long as there is room, and says no. */
export function reject(issues: Issue[], path: string, reason: string, suggestion?: string): false {
  if (issues.length < MAX_ISSUES) issues.push({ path, reason, ...(suggestion && { suggestion }) });
  return false;
}

/** The reason in words; a part that is not there is said to be missing. */
export function wrong(value: unknown, wanted: string): string {
  return value === undefined ? `is missing; must be ${wanted}` : `must be ${wanted}`;
}

/** A name as a part of a JSON Pointer, of bounded length. */
export function pointerToken(name: string): string {
  return name.slice(0, MAX_NAME).replaceAll("~", "~0").replaceAll("/", "~1");
}
