import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { type Field, fieldOf, simple } from "./field.ts";

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

/** What things and people are called: 1 to 255 characters. */
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

/** Whatever JSON can say, null too. */
export const anyValue: Field<JsonValue> = simple(
  "a JSON value",
  {},
  (value): value is JsonValue => value !== undefined,
);

/** A string that matches `pattern`; `wanted` says in words what that is. */
export function matching(pattern: RegExp, wanted: string): Field<string> {
  // JSON Schema knows no flags, and reads patterns as Unicode.
  if (pattern.flags.replace("u", "") !== "")
    throw new TypeError(`${pattern} has flags that a schema cannot say`);
  const read = new RegExp(pattern.source, "u");
  return simple(
    wanted,
    { type: "string", pattern: pattern.source },
    (value): value is string => isString(value) && read.test(value),
  );
}

const ISO_8601 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** A date and time with its zone. */
export const timestamp: Field<string> = formatted(
  "date-time",
  matching(ISO_8601, "an ISO 8601 date and time with a zone"),
);

/** A UUID of any version. */
export const uuid: Field<string> = formatted(
  "uuid",
  matching(/^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/, "a UUID"),
);

/** The format is a hint for readers and generators; the pattern is what holds. */
function formatted(format: string, field: Field<string>): Field<string> {
  return fieldOf({ ...field.schema, format }, field);
}

/** An address that a browser could open, of at most 2048 characters. */
export const webAddress: Field<string> = formatted(
  "uri",
  matching(/^https?:\/\/[^\s]{1,2040}$/, "an http or https address"),
);

/** One of these words exactly. */
export function oneOf<W extends string>(words: readonly W[]): Field<W> {
  return simple(`one of ${words.join(", ")}`, { type: "string", enum: [...words] }, (value): value is W =>
    words.some((word) => word === value),
  );
}
