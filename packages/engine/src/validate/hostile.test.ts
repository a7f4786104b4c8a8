import type { JsonObject, JsonSchema, JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createSchemaCompiler } from "./compile.ts";

/** Those made to take for ever would take hours; a second is usual, also where it is slow and busy it is not this. */
const LIMIT_MS = 20_000;

function timed<T>(action: () => T): { result: T; ms: number } {
  const start = performance.now();
  const result = action();
  return { result, ms: performance.now() - start };
}

function nested(depth: number, leaf: JsonValue): JsonValue {
  let value = leaf;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

function doubling(levels: number): JsonSchema {
  const $defs: JsonObject = { l0: { type: "string" } };
  for (let level = 1; level <= levels; level += 1) {
    const below = { $ref: `#/$defs/l${level - 1}` };
    $defs[`l${level}`] = { allOf: [below, below] };
  }
  return { $ref: `#/$defs/l${levels}`, $defs };
}

/** A text without any period, so that no automaton settles down on it. */
function tosses(length: number): string {
  let seed = 12_345;
  return Array.from({ length }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >> 16) & 1 ? "a" : "b";
  }).join("");
}

const numbers = Array.from({ length: 50_000 }, (_, index) => index);
const coins = tosses(262_144);
const manyKeys = Object.fromEntries(numbers.map((index) => [`key${index}`, index]));
const pairs = numbers.slice(0, 20_000).map((index) => ({ index, half: index >> 1 }));
const branches = (count: number, branch: (index: number) => JsonValue) =>
  Array.from({ length: count }, (_, i) => branch(i));

const ENDLESS: [string, JsonSchema, JsonValue][] = [
  ["references that double at every level", doubling(40), "text"],
  ["a reference to itself", { $ref: "#" }, 1],
  [
    "two definitions that refer to each other",
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    1,
  ],
  [
    "a recursive anyOf",
    { anyOf: [{ items: { $ref: "#" } }, { items: { $ref: "#" }, minItems: 2 }] },
    nested(60, [1, 2]),
  ],
  [
    "a wide anyOf over a long array",
    { items: { anyOf: branches(500, (i) => ({ const: -1 - i })) } },
    numbers,
  ],
  [
    "a wide oneOf of false over a long array",
    { items: { oneOf: [true, ...branches(1900, () => false)] } },
    numbers,
  ],
  [
    "a wide anyOf over many properties",
    { anyOf: branches(900, (i) => ({ properties: { [`p${i}`]: {} }, minProperties: 60_000 })) },
    manyKeys,
  ],
  [
    "a wide allOf over many property names",
    { allOf: branches(600, (i) => ({ propertyNames: { not: { const: `x${i}` } } })) },
    manyKeys,
  ],
  [
    "many patterns over a long text",
    { allOf: branches(150, (i) => ({ pattern: `(a|b|c)*d{${i + 1}}$` })) },
    coins,
  ],
  ["a pattern whose automaton explodes", { pattern: "^(?:[ab]*a[ab]{200}){3}c?$" }, coins],
  ["many lengths of a long text", { allOf: branches(1900, (i) => ({ minLength: i })) }, "é".repeat(200_000)],
  ["many uniqueItems over objects", { allOf: branches(1500, () => ({ uniqueItems: true })) }, pairs],
  [
    "many enums of objects over objects",
    { items: { anyOf: branches(900, (i) => ({ enum: [{ i }, { j: i }] })) } },
    pairs,
  ],
  ["many required names over many objects", { items: { required: branches(4000, (i) => `n${i}`) } }, pairs],
  [
    "wrong items behind references in anyOf",
    { items: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] }, $defs: { a: { type: "string" } } },
    numbers,
  ],
  [
    "wrong items inside a recursive union",
    { anyOf: [{ type: "string" }, { items: { $ref: "#" } }] },
    numbers,
  ],
  [
    "wrong items deep inside a wide recursive union",
    { anyOf: [...branches(6, (i) => ({ const: `k${i}` })), { type: "array", items: { $ref: "#" } }] },
    nested(58, numbers),
  ],
  ["a long chain of references", chain(150), 1],
  [
    "two thousand different subschemas",
    { properties: Object.fromEntries(branches(1900, (i) => ({ const: i })).map((s, i) => [`p${i}`, s])) },
    {},
  ],
  [
    "a search for items in a long array",
    { allOf: branches(90, (i) => ({ contains: { const: -i } })) },
    numbers,
  ],
  [
    "unevaluated properties in a wide union",
    {
      anyOf: branches(400, (i) => ({ properties: { [`key${i}`]: { type: "integer" } } })),
      unevaluatedProperties: false,
    },
    manyKeys,
  ],
];

function chain(length: number): JsonSchema {
  const $defs = Object.fromEntries(
    branches(length, (i) => ({ $ref: `#/$defs/c${i + 1}` })).map((s, i) => [`c${i}`, s]),
  );
  return { $ref: "#/$defs/c0", $defs: { ...$defs, [`c${length}`]: { type: "integer" } } };
}

describe("schemas and values made to take for ever [FR-VAL-01]", () => {
  // Below an unevaluated keyword the evaluator notes what was evaluated.
  const tracked = ENDLESS.map(([name, schema, value]): (typeof ENDLESS)[number] => [
    `${name}, beside unevaluatedItems`,
    { unevaluatedItems: true, ...schema },
    value,
  ]);
  it.each([...ENDLESS, ...tracked])("gives a verdict in time for %s", (_name, schema, value) => {
    const compiler = createSchemaCompiler();
    const compiled = timed(() => compiler.compile(schema));
    const checked = timed(() => compiled.result.validate(value));
    const { result } = checked;
    expect(compiled.ms).toBeLessThan(LIMIT_MS);
    expect(checked.ms).toBeLessThan(LIMIT_MS);
    expect(result.ok || result.kind === "invalid" || result.failure.code === "E3916").toBe(true);
  });
});

describe("the words for what is wrong [FR-VAL-01]", () => {
  it("are looked for only where they are listed", () => {
    const names = (prefix: string) => branches(40, (i) => `${prefix}_property_${i}`);
    const closed = (prefix: string): JsonObject => ({
      properties: Object.fromEntries(names(prefix).map((name) => [name, true])),
      additionalProperties: false,
    });
    const wrong = Object.fromEntries(numbers.slice(0, 12_000).map((index) => [`x_property${index}`, index]));
    const validator = createSchemaCompiler().compile({ anyOf: ["a", "b", "c", "d"].map(closed) });
    const { result, ms } = timed(() => validator.validate(wrong));
    expect(result).toMatchObject({ ok: false, kind: "invalid", issues: { length: 100 }, more: 901 });
    expect(ms).toBeLessThan(LIMIT_MS / 4);
  });
});
