import type { Issue } from "./errors/catalogue.ts";
import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from "./json.ts";

/** A message with more issues is not repaired by hand; the bound also limits what a hostile message costs. */
const MAX_ISSUES = 100;
const MAX_NAME = 512;

type Judge<T> = (value: unknown, path: string, issues: Issue[]) => value is T;

/**
 * Checks one part of a message. It adds what is wrong to `issues` and goes on, so that a sender sees every mistake at
 * once. Its schema says the same in JSON Schema 2020-12: the field and its schema accept the same JSON, so that a
 * description made of schemas cannot differ from what is really read.
 */
export interface Field<T> {
  (value: unknown, path: string, issues: Issue[]): value is T;
  readonly schema: JsonSchema;
  /** Set when the part may be left out. */
  readonly mayBeAbsent?: true;
}

/** The values that a field accepts, so that a message's type and its reader are written once. */
export type Infer<F> = F extends Field<infer T> ? T : never;

/** Joins a judgement to the schema that says the same. */
export function fieldOf<T>(
  schema: JsonSchema,
  judge: Judge<T>,
  { mayBeAbsent = false }: { mayBeAbsent?: boolean } = {},
): Field<T> {
  const own: Judge<T> = (value, path, issues): value is T => judge(value, path, issues);
  return Object.assign(own, { schema }, mayBeAbsent && { mayBeAbsent: true as const });
}

/** The same field with another schema, which must accept the same values. */
function withSchema<T>(field: Field<T>, schema: JsonSchema): Field<T> {
  return fieldOf(schema, field, { mayBeAbsent: field.mayBeAbsent === true });
}

/** The same field, with a sentence for the reader of its description. */
export function described<T>(field: Field<T>, description: string): Field<T> {
  const { schema } = field;
  // A named shape is described once, where it is defined; this sentence is about its place.
  return withSchema(
    field,
    schema.title === undefined ? { ...schema, description } : { allOf: [schema], description },
  );
}

/** The same field under a name: a description of many messages then shows its shape once. */
export function named<T>(title: string, field: Field<T>): Field<T> {
  return withSchema(field, { title, ...field.schema });
}

/** The same field, with an example for the reader of its description. */
export function exampled<T>(field: Field<T>, example: JsonValue): Field<T> {
  return withSchema(field, { ...field.schema, examples: [example] });
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

/** Adds an issue while there is room, and returns false. */
export function reject(issues: Issue[], path: string, reason: string, suggestion?: string): false {
  if (issues.length < MAX_ISSUES) issues.push({ path, reason, ...(suggestion && { suggestion }) });
  return false;
}

/** The reason in words; a part that is not there is said to be missing. */
function wrong(value: unknown, wanted: string): string {
  return value === undefined ? `is missing; must be ${wanted}` : `must be ${wanted}`;
}

/** A name as a part of a JSON Pointer, of bounded length. */
function pointerToken(name: string): string {
  return name.slice(0, MAX_NAME).replaceAll("~", "~0").replaceAll("/", "~1");
}

/** A non-empty string of at most this many characters. */
export function textUpTo(maxLength: number): Field<string> {
  return simple(
    `a string of 1 to ${maxLength} characters`,
    { type: "string", minLength: 1, maxLength },
    (value): value is string => isString(value) && value.length > 0 && isShort(value, maxLength),
  );
}

/** Counts characters as JSON Schema does, and never those of a string that is too long anyway. */
function isShort(value: string, most: number): boolean {
  return value.length <= most || (value.length <= 2 * most && [...value].length <= most);
}

/** A non-empty string of at most 512 characters. */
export const text: Field<string> = textUpTo(512);

/** The name of a thing or a person: 1 to 255 characters. */
export const nameText: Field<string> = textUpTo(255);

/** For tokens and free text, whose length only the message size bounds. */
export const anyText: Field<string> = simple("a string", { type: "string" }, isString);

function isString(value: unknown): value is string {
  return typeof value === "string";
}

export const flag: Field<boolean> = simple(
  "true or false",
  { type: "boolean" },
  (value) => typeof value === "boolean",
);

/** A whole number in these bounds, both included; never one that a double cannot hold exactly. */
export function wholeNumber(
  wanted: string,
  { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: { minimum?: number; maximum?: number } = {},
): Field<number> {
  const fits = (value: unknown): value is number =>
    Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum;
  return simple(wanted, { type: "integer", minimum, maximum }, fits);
}

export const positiveInteger: Field<number> = wholeNumber("a whole number above zero", { minimum: 1 });

/** How many, or how much: zero or more. */
export const count: Field<number> = wholeNumber("a whole number of at least zero");

export const anyObject: Field<JsonObject> = simple("an object", { type: "object" }, isJsonObject);

/** Every JSON value, null too. */
export const anyValue: Field<JsonValue> = simple(
  "a JSON value",
  {},
  (value): value is JsonValue => value !== undefined,
);

/** A string that matches `pattern`; `wanted` says in words what that is. */
export function matching(pattern: RegExp, wanted: string, format?: string): Field<string> {
  // JSON Schema knows no flags, and reads patterns as Unicode.
  if (pattern.flags.replace("u", "") !== "")
    throw new TypeError(`${pattern} has flags that a schema cannot say`);
  const read = new RegExp(pattern.source, "u");
  // The format is a hint for readers and generators; the pattern decides.
  const schema = { type: "string", pattern: pattern.source, ...(format && { format }) };
  return simple(wanted, schema, (value): value is string => isString(value) && read.test(value));
}

const ISO_8601 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** A date and time with its zone. */
export const timestamp = matching(ISO_8601, "an ISO 8601 date and time with a zone", "date-time");

/** A UUID of any version. */
export const uuid = matching(/^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/, "a UUID", "uuid");

/** An address that a browser could open, of at most 2048 characters. */
export const webAddress = matching(/^https?:\/\/[^\s]{1,2040}$/, "an http or https address", "uri");

/** One of these words exactly. */
export function oneOf<const W extends string>(words: readonly W[]): Field<W> {
  return simple(`one of ${words.join(", ")}`, { type: "string", enum: [...words] }, (value): value is W =>
    words.some((word) => word === value),
  );
}

const DIGITS = /^(?:0|[1-9]\d{0,15})$/;

/**
 * A whole number in decimal digits, such as `50`, for what comes as text only: the query of an address. Its schema is
 * that of the number, as descriptions of queries have it.
 */
export function wholeNumberText({ minimum, maximum }: { minimum: number; maximum: number }): Field<string> {
  return simple(
    `a whole number from ${minimum} to ${maximum}`,
    { type: "integer", minimum, maximum },
    (value): value is string =>
      isString(value) && DIGITS.test(value) && Number(value) >= minimum && Number(value) <= maximum,
  );
}

const LIST = /^[^,]+(?:,[^,]+)*$/u;
const MAX_LIST = 2_000;

/** Words in a query with commas between them, such as `math,text`; its schema is that of the list. */
export const wordList: Field<string> = simple(
  "words with commas between them",
  { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 },
  (value): value is string => isString(value) && value.length <= MAX_LIST && LIST.test(value),
);

/** A field that may be absent or null, which is how some senders write absent. */
export function optional<T>(field: Field<T>, description?: string): Field<T | null | undefined> {
  const { schema } = description === undefined ? field : described(field, description);
  return fieldOf(
    orNull(schema),
    (value, path, issues): value is T | null | undefined =>
      value === undefined || value === null || field(value, path, issues),
    { mayBeAbsent: true },
  );
}

function orNull(schema: JsonSchema): JsonSchema {
  const { type, title, enum: words } = schema;
  if (title !== undefined || typeof type !== "string") return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [type, "null"], ...(Array.isArray(words) && { enum: [...words, null] }) };
}

/** A field that may be absent, and is never null: for what this side writes. */
export function absentOr<T>(field: Field<T>, description?: string): Field<T | undefined> {
  return fieldOf(
    description === undefined ? field.schema : described(field, description).schema,
    (value, path, issues): value is T | undefined => value === undefined || field(value, path, issues),
    { mayBeAbsent: true },
  );
}

type Fields = Readonly<Record<string, Field<unknown>>>;

type OptionalNames<F extends Fields> = {
  [K in keyof F]: undefined extends Infer<F[K]> ? K : never;
}[keyof F];

type RecordOf<F extends Fields> = Flat<
  { [K in Exclude<keyof F, OptionalNames<F>>]: Infer<F[K]> } & {
    [K in OptionalNames<F>]?: Exclude<Infer<F[K]>, undefined>;
  }
>;

/** The same type, shown to readers as one object instead of an intersection. */
type Flat<T> = { [K in keyof T]: T[K] };

/** An object with these fields. It ignores others, as a later minor version may add some. */
export function record<F extends Fields>(fields: F): Field<RecordOf<F>> {
  const entries = Object.entries(fields);
  return fieldOf(recordSchema(entries), (value, path, issues): value is RecordOf<F> => {
    if (!isJsonObject(value)) return reject(issues, path, wrong(value, "an object"));
    let fits = true;
    for (const [name, field] of entries) {
      const part = ownValue(value, name);
      const isLeftOut = part === undefined && field.mayBeAbsent === true;
      if (!isLeftOut && !field(part, `${path}/${name}`, issues)) fits = false;
    }
    return fits;
  });
}

/** What an object inherits was not sent. */
function ownValue(value: JsonObject, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function recordSchema(entries: readonly [string, Field<unknown>][]): JsonSchema {
  const required = entries.flatMap(([name, field]) => (field.mayBeAbsent ? [] : [name]));
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    ...(required.length > 0 && { required }),
  };
}

/** An object with these fields and no other: a misspelt constraint must not be dropped in silence. */
export function exactRecord<F extends Fields>(fields: F): Field<RecordOf<F>> {
  const known = record(fields);
  const suggestion = `Known here: ${Object.keys(fields).join(", ")}.`;
  const schema = { ...known.schema, additionalProperties: false };
  return fieldOf(schema, (value, path, issues): value is RecordOf<F> => {
    const unknown = isJsonObject(value)
      ? Object.keys(value).filter((name) => !Object.hasOwn(fields, name))
      : [];
    for (const name of unknown) {
      reject(issues, `${path}/${pointerToken(name)}`, "is not a known field", suggestion);
    }
    return known(value, path, issues) && unknown.length === 0;
  });
}

/** A list whose every item fits; each that does not is named. */
export function listOf<T>(item: Field<T>): Field<T[]> {
  return fieldOf({ type: "array", items: item.schema }, (value, path, issues): value is T[] => {
    if (!Array.isArray(value)) return reject(issues, path, wrong(value, "a list"));
    const verdicts = value.map((entry, index) => item(entry, `${path}/${index}`, issues));
    return verdicts.every(Boolean);
  });
}

/** An object of any names whose every value fits. */
export function mapOf<T>(item: Field<T>): Field<Record<string, T>> {
  const schema = { type: "object", additionalProperties: item.schema };
  return fieldOf(schema, (value, path, issues): value is Record<string, T> => {
    if (!isJsonObject(value)) return reject(issues, path, wrong(value, "an object"));
    const verdicts = Object.entries(value).map(([name, entry]) =>
      item(entry, `${path}/${pointerToken(name)}`, issues),
    );
    return verdicts.every(Boolean);
  });
}

/** One of several shapes: the word at `key` says which, and each shape must say its word there. */
export function variants<F extends Fields>(key: string, shapes: F): Field<Infer<F[keyof F]>> {
  const words = Object.keys(shapes);
  const schema = { oneOf: Object.values(shapes).map((shape) => shape.schema) };
  return fieldOf(schema, (value, path, issues): value is Infer<F[keyof F]> => {
    if (!isJsonObject(value)) return reject(issues, path, wrong(value, "an object"));
    const word = ownValue(value, key);
    const shape = typeof word === "string" && Object.hasOwn(shapes, word) ? shapes[word] : undefined;
    const wanted = `one of ${words.join(", ")}`;
    return shape ? shape(value, path, issues) : reject(issues, `${path}/${key}`, wrong(word, wanted));
  });
}

/** The first of these that fits; when none does, the issues are those of the second. */
export function either<A, B>(first: Field<A>, second: Field<B>): Field<A | B> {
  const schema = { anyOf: [first.schema, second.schema] };
  return fieldOf(
    schema,
    (value, path, issues): value is A | B => first(value, path, []) || second(value, path, issues),
  );
}
