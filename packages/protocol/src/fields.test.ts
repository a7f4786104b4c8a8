import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Field } from "./fields.ts";
import { described, either, exactRecord, mapOf, matching, named, optional, text } from "./fields.ts";
import { anyJson, fitting } from "./fixtures/fitting.ts";
import * as protocol from "./index.ts";
import type { JsonSchema, JsonValue } from "./json.ts";

const ajv = new Ajv2020({ strict: true, strictTypes: false, strictNumbers: true, validateFormats: false });
const asText = new Ajv2020({ coerceTypes: "array", strictTypes: false, validateFormats: false });

type Entry = [name: string, field: Field<unknown>];

const EXPORTS: Record<string, unknown> = { ...protocol, ...protocol.invocationEventFields };
const FIELDS = Object.entries(EXPORTS).flatMap(([name, value]): Entry[] =>
  isField(value) ? [[name, value]] : [],
);
/** What comes as text only is compared as text. */
const isQuery = ([name]: Entry) => name.endsWith("QueryField") || name === "wordList";

function isField(value: unknown): value is Field<unknown> {
  return typeof value === "function" && "schema" in value;
}

const accepts = (field: Field<unknown>, value: unknown): boolean => field(value, "", []);

/** A value with something about it changed, somewhere: a member replaced, dropped or added. */
function changed(value: JsonValue, [way, pick, other]: [number, number, JsonValue]): JsonValue {
  if (typeof value !== "object" || value === null) return other;
  const keys = Object.keys(value);
  const key = keys[pick % Math.max(1, keys.length)];
  if (key === undefined || way === 0)
    return Array.isArray(value) ? [...value, other] : { ...value, added: other };
  if (way === 1 && !Array.isArray(value))
    return Object.fromEntries(Object.entries(value).filter(([one]) => one !== key));
  const inside = (value as Record<string, JsonValue>)[key] ?? null;
  const replacement = way === 2 ? other : changed(inside, [pick % 4, pick >> 2, other]);
  return Array.isArray(value)
    ? value.map((one, index) => (String(index) === key ? replacement : one))
    : { ...value, [key]: replacement };
}

const changes = fc.tuple(fc.nat(4), fc.nat(), anyJson);

describe("a field and its schema", () => {
  it("are there for every message", () => {
    expect(FIELDS.length).toBeGreaterThan(20);
  });

  it.each(FIELDS.filter((entry) => !isQuery(entry)))("take the same JSON: %s", (_name, field) => {
    const validate = ajv.compile(field.schema);
    const value = fc.oneof(
      { weight: 3, arbitrary: fitting(field.schema, { beyond: true }) },
      {
        weight: 5,
        arbitrary: fc
          .tuple(fitting(field.schema, { beyond: true }), changes)
          .map(([fits, change]) => changed(fits, change)),
      },
      { weight: 1, arbitrary: anyJson },
    );
    fc.assert(
      fc.property(value, (sent) => {
        expect(accepts(field, sent)).toBe(validate(sent));
      }),
    );
  });

  it.each(FIELDS.filter(([name]) => name.endsWith("QueryField")))(
    "take the same text: %s",
    (_name, field) => {
      const validate = asText.compile(field.schema);
      const names = Object.keys(Object(field.schema.properties));
      const words = fc.oneof(
        fc.integer({ min: -3, max: 300 }).map(String),
        fc.stringMatching(/^[a-z_]{1,8}$/),
        ...enumWords(field),
      );
      const query = fc.dictionary(fc.constantFrom(...names, "other"), words, { maxKeys: 3 });
      fc.assert(
        fc.property(query, (sent) => {
          expect(accepts(field, sent)).toBe(validate(structuredClone(sent)));
        }),
      );
    },
  );
});

function enumWords({ schema }: Field<unknown>): fc.Arbitrary<string>[] {
  const parts = Object.values(Object(schema.properties)) as JsonSchema[];
  const words = parts.flatMap((part) =>
    Array.isArray(part.enum) ? part.enum.filter((word) => typeof word === "string") : [],
  );
  return words.length > 0 ? [fc.constantFrom(...(words as string[]))] : [];
}

describe("fields", () => {
  it("keep a named shape whole when something is said about its place", () => {
    const shape = named("Shape", exactRecord({ a: text }));
    expect(described(shape, "here").schema).toEqual({ allOf: [shape.schema], description: "here" });
    expect(optional(shape).schema).toEqual({ anyOf: [shape.schema, { type: "null" }] });
  });

  it("do not take what an object only inherits", () => {
    const field = exactRecord({ toString: text });
    expect(accepts(field, {})).toBe(false);
  });

  it("say the second choice's mistakes when neither fits", () => {
    const issues: { path: string; reason: string }[] = [];
    expect(either(text, mapOf(text))({ a: 1 }, "", issues)).toBe(false);
    expect(issues).toEqual([{ path: "/a", reason: "must be a string of 1 to 512 characters" }]);
  });

  it("refuse a pattern that a schema cannot say", () => {
    expect(() => matching(/a/i, "an a")).toThrow(TypeError);
  });

  it("count characters as schemas do", () => {
    expect(accepts(text, "😀".repeat(512))).toBe(true);
    expect(accepts(text, "😀".repeat(513))).toBe(false);
  });
});
