import type { Issue } from "../errors/failure.ts";
import { isJsonObject, type JsonObject, type JsonSchema } from "../json.ts";
import { type Field, fieldOf, pointerToken, reject, wrong } from "./field.ts";

type Fields<T> = { [K in keyof T]-?: Field<T[K]> };

/** A field that may be absent or null, which is how some senders write absent. */
export function optional<T>(field: Field<T>): Field<T | null | undefined> {
  return fieldOf(
    orNull(field.schema),
    (value, path, issues): value is T | null | undefined =>
      value === undefined || value === null || field(value, path, issues),
    { mayBeAbsent: true },
  );
}

/** A field that may be absent, and is never null: for what this side writes. */
export function absentOr<T>(field: Field<T>): Field<T | undefined> {
  return fieldOf(
    field.schema,
    (value, path, issues): value is T | undefined => value === undefined || field(value, path, issues),
    { mayBeAbsent: true },
  );
}

function orNull(schema: JsonSchema): JsonSchema {
  const { type, title, enum: words } = schema;
  if (title !== undefined || typeof type !== "string") return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [type, "null"], ...(Array.isArray(words) && { enum: [...words, null] }) };
}

/** An object with these fields; others are passed over, as a later minor version may add some. */
export function record<T>(fields: Fields<T>): Field<T> {
  const entries = Object.entries<Field<unknown>>(fields);
  return fieldOf(recordSchema(entries), (value, path, issues): value is T => {
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
export function exactRecord<T>(fields: Fields<T>): Field<T> {
  const known = record(fields);
  const suggestion = `Known here: ${Object.keys(fields).join(", ")}.`;
  const schema = { ...known.schema, additionalProperties: false };
  return fieldOf(schema, (value, path, issues): value is T => {
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
export function variants<T>(key: string, shapes: Readonly<Record<string, Field<T>>>): Field<T> {
  const words = Object.keys(shapes);
  const schema = { oneOf: Object.values(shapes).map((shape) => shape.schema) };
  return fieldOf(schema, (value, path, issues): value is T => {
    if (!isJsonObject(value)) return reject(issues, path, wrong(value, "an object"));
    const word = ownValue(value, key);
    const shape = typeof word === "string" && Object.hasOwn(shapes, word) ? shapes[word] : undefined;
    const wanted = `one of ${words.join(", ")}`;
    return shape ? shape(value, path, issues) : reject(issues, `${path}/${key}`, wrong(word, wanted));
  });
}

/** The first of these that fits; when none does, the last one's word counts. */
export function either<A, B>(first: Field<A>, second: Field<B>): Field<A | B> {
  const schema = { anyOf: [first.schema, second.schema] };
  const quiet: Issue[] = [];
  return fieldOf(schema, (value, path, issues): value is A | B => {
    const fits = first(value, path, quiet);
    quiet.length = 0;
    return fits || second(value, path, issues);
  });
}
