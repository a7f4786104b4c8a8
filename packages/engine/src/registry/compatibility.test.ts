import type { JsonObject, JsonSchema } from "@sallyport/protocol";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { scaledRuns } from "../testing/store-samples.ts";
import { arbitrarySchema, arbitraryValue } from "../validate/fixtures/arbitrary-schema.ts";
import { breakingChanges } from "./compatibility.ts";

const closed = (properties: JsonObject, required: string[] = []): JsonSchema => {
  return { type: "object", properties, required, additionalProperties: false };
};
const TEXT = { type: "string" };
const breaks = (older: JsonSchema, newer: JsonSchema, side: "input" | "output") =>
  breakingChanges(older, newer, side).map(({ path, reason }) => `${path} ${reason}`);

describe("an input schema [L3-REG-2]", () => {
  const compatible: [string, JsonSchema, JsonSchema][] = [
    ["the same", closed({ a: TEXT }), closed({ a: TEXT })],
    [
      "other words",
      { ...TEXT, title: "x" },
      { ...TEXT, title: "y", description: "z", examples: [1], $comment: "c" },
    ],
    ["a new optional property", closed({ a: TEXT }), closed({ a: TEXT, b: TEXT })],
    ["a property no longer required", closed({ a: TEXT }, ["a"]), closed({ a: TEXT })],
    ["more types", closed({ a: { type: "integer" } }), closed({ a: { type: ["number", "null"] } })],
    ["more enum values", { enum: ["a", "b"] }, { enum: ["c", "b", "a"] }],
    ["a constant as one of several", { const: "a" }, { enum: ["a", "b"] }],
    [
      "wider bounds",
      { type: "integer", minimum: 1, maximum: 5, exclusiveMaximum: 9 },
      { type: "number", minimum: 0, exclusiveMaximum: 6 },
    ],
    ["wider lengths", { ...TEXT, minLength: 2, maxLength: 4 }, { ...TEXT, minLength: 1, maxLength: 9 }],
    ["no pattern any more", { ...TEXT, pattern: "^a", format: "date" }, { ...TEXT, format: "date" }],
    ["an opened object", closed({ a: TEXT }), { type: "object", properties: { a: TEXT } }],
    [
      "a larger list",
      { type: "array", items: TEXT, maxItems: 3 },
      { type: "array", items: { type: ["string", "null"] }, maxItems: 9 },
    ],
    [
      "a prefix that fits the items",
      { type: "array", prefixItems: [TEXT, TEXT], items: false },
      { type: "array", items: TEXT },
    ],
    [
      "a definition instead of the schema itself",
      closed({ a: TEXT }),
      { $ref: "#/$defs/o", $defs: { o: closed({ a: TEXT }) } },
    ],
    [
      "another alternative",
      { anyOf: [TEXT, { type: "null" }] },
      { anyOf: [{ type: "integer" }, { type: "null" }, TEXT] },
    ],
    ["types as alternatives", { type: ["string", "null"] }, { anyOf: [TEXT, { type: "null" }] }],
    ["alternatives that became one", { oneOf: [{ const: "a" }, { const: "b" }] }, { type: "string" }],
    ["another tagged alternative", tagged("x", "y"), tagged("x", "y", "z")],
    ["multiples of a divisor", { type: "integer", multipleOf: 6 }, { type: "integer", multipleOf: 3 }],
    ["an exclusion of something else", { type: "string" }, { type: "string", not: { type: "null" } }],
    ["a condition kept", { if: TEXT, else: { minimum: 2 } }, { if: TEXT, else: { minimum: 1 } }],
    ["recursion", tree({ type: "integer" }), tree({ type: "number" })],
  ];
  it.each(compatible)("may change to accept %s", (_name, older, newer) => {
    expect(breaks(older, newer, "input")).toEqual([]);
  });

  const breaking: [string, JsonSchema, JsonSchema, string[]][] = [
    [
      "a newly required property",
      closed({ a: TEXT }),
      closed({ a: TEXT }, ["a"]),
      ['/required "a" is newly required'],
    ],
    [
      "a removed property",
      closed({ a: TEXT, b: TEXT }),
      closed({ a: TEXT }),
      ["/additionalProperties (b) is no longer allowed"],
    ],
    [
      "another type",
      closed({ a: TEXT }),
      closed({ a: { type: "number" } }),
      ["/properties/a/type no longer accepts string"],
    ],
    ["fewer enum values", { enum: ["a", "b"] }, { enum: ["a"] }, ['/enum no longer accepts "b"']],
    [
      "a higher minimum",
      { type: "integer", minimum: 1 },
      { type: "integer", minimum: 2 },
      ["/minimum minimum 2 is stricter than before"],
    ],
    [
      "an exclusive bound",
      { type: "number", minimum: 1 },
      { type: "number", exclusiveMinimum: 1 },
      ["/exclusiveMinimum exclusiveMinimum 1 is stricter than before"],
    ],
    [
      "another pattern",
      { ...TEXT, pattern: "^a" },
      { ...TEXT, pattern: "^ab" },
      ["/pattern demands another pattern than before"],
    ],
    [
      "a closed object",
      { type: "object" },
      { type: "object", additionalProperties: false },
      ["/additionalProperties is no longer allowed"],
    ],
    [
      "a typed property of an open object",
      { type: "object" },
      { type: "object", properties: { a: TEXT } },
      ["/properties/a/type no longer accepts null, boolean, object, array, number"],
    ],
    [
      "unique items",
      { type: "array" },
      { type: "array", uniqueItems: true },
      ["/uniqueItems newly refuses equal items"],
    ],
    [
      "recursion that narrows",
      tree({ type: "number" }),
      tree({ type: "integer" }),
      [
        "/properties/value/type no longer accepts number",
        "/properties/children/items/properties/value/type no longer accepts number",
      ],
    ],
    [
      "overlapping alternatives",
      { oneOf: [TEXT] },
      { oneOf: [TEXT, { minLength: 1 }] },
      ["/oneOf may not fit exactly one alternative"],
    ],
    [
      "something that cannot be compared",
      { type: "object" },
      { type: "object", dependentSchemas: { a: { required: ["b"] } } },
      ["/dependentSchemas changed in a way that cannot be compared"],
    ],
  ];
  it.each(breaking)("breaks callers by %s", (_name, older, newer, expected) => {
    expect(breaks(older, newer, "input")).toEqual(expected);
  });
});

describe("a schema that refers by URI", () => {
  const parts = (type: string): JsonSchema => ({
    $ref: "part",
    $defs: { part: { $id: "part", $ref: "#/$defs/n", $defs: { n: { type } } }, n: TEXT },
  });

  it.each(["input", "output"] as const)("is a compatible %s only when it is equal", (side) => {
    expect(breaks(parts("number"), parts("number"), side)).toEqual([]);
    expect(breaks(parts("number"), parts("string"), side)).toEqual([expect.stringMatching(/by URI/)]);
    expect(breaks({ $id: "https://e.com/a", ...TEXT }, { $id: "https://e.com/b", ...TEXT }, side)).toEqual(
      [],
    );
  });
});

describe("an output schema [L3-REG-2]", () => {
  it("may promise more and be narrower", () => {
    expect(
      breaks(closed({ a: { type: "number" } }), closed({ a: { type: "integer" } }, ["a"]), "output"),
    ).toEqual([]);
  });

  it.each<[string, JsonSchema, JsonSchema, string]>([
    [
      "a property no longer promised",
      closed({ a: TEXT }, ["a"]),
      closed({ a: TEXT }),
      '/required "a" is no longer always there',
    ],
    [
      "a property that was forbidden",
      closed({ a: TEXT }),
      closed({ a: TEXT, b: TEXT }),
      "/additionalProperties (b) is newly possible",
    ],
    ["a new type", TEXT, { type: ["string", "null"] }, "/type may newly be null"],
    ["a new enum value", { enum: [1] }, { enum: [1, 2] }, "/enum may newly be 2"],
  ])("breaks callers by %s", (_name, older, newer, expected) => {
    expect(breaks(older, newer, "output")).toEqual([expected]);
  });
});

function tagged(...kinds: string[]): JsonSchema {
  return { oneOf: kinds.map((kind) => closed({ kind: { const: kind }, [kind]: TEXT }, ["kind"])) };
}

function tree(value: JsonSchema): JsonSchema {
  return closed({ value, children: { type: "array", items: { $ref: "#" } } }, ["value"]);
}

describe("a change that is not reported", () => {
  const accepts = (schema: JsonSchema, value: unknown): boolean | undefined => {
    try {
      const ajv = new Ajv2020({
        strict: false,
        // As calls are checked. Without it Ajv passes over `contains` where an array is shorter than `prefixItems`.
        allErrors: true,
        ownProperties: true,
        logger: false,
        meta: false,
        validateSchema: false,
      });
      formats.default(ajv);
      return ajv.compile(structuredClone(schema))(value);
    } catch {
      // Ajv cannot judge a schema that refers to itself without end, nor some with unevaluated keywords.
      return undefined;
    }
  };

  /** Pairs that have much in common, so that many are compatible. */
  const edited = fc
    .tuple(arbitrarySchema, arbitrarySchema, fc.integer({ min: 0, max: 5 }))
    .map(([older, other, how]) => {
      const keys = Object.keys(older).filter((key) => key !== "$defs");
      const { [keys[0] ?? ""]: _gone, ...fewer } = older;
      const newer = [
        older,
        other,
        fewer,
        { ...older, ...other },
        { anyOf: [older, other], $defs: older.$defs },
        { ...fewer, ...other },
      ][how];
      return [older, (newer ?? older) as JsonObject] as const;
    });

  it.each(["input", "output"] as const)("leaves every value of the %s valid", (side) => {
    let compatible = 0;
    fc.assert(
      fc.property(
        edited,
        fc.array(arbitraryValue, { minLength: 8, maxLength: 8 }),
        ([older, newer], values) => {
          if (breakingChanges(older, newer, side).length > 0) return;
          const [narrow, wide] = side === "input" ? [older, newer] : [newer, older];
          for (const value of values) {
            if (accepts(narrow, value) !== true) continue;
            compatible += 1;
            expect({ value, accepted: accepts(wide, value) ?? true }).toEqual({ value, accepted: true });
          }
        },
      ),
      { numRuns: scaledRuns(200) },
    );
    expect(compatible).toBeGreaterThan(100);
  });

  it("is found within a moment, also for schemas made to be slow", () => {
    const wide = {
      anyOf: Array.from({ length: 40 }, (_, i) => closed({ [`p${i}`]: { anyOf: [{ $ref: "#" }, TEXT] } })),
    };
    const other = {
      anyOf: Array.from({ length: 40 }, (_, i) =>
        closed({ [`p${i}`]: { anyOf: [TEXT, { $ref: "#" }], minLength: 1 } }),
      ),
    };
    const start = performance.now();
    expect(breakingChanges(wide, other, "input").length).toBeGreaterThan(0);
    expect(breakingChanges({ $ref: "#" }, { anyOf: [{ $ref: "#" }] }, "input").length).toBeLessThan(5);
    expect(performance.now() - start).toBeLessThan(20_000);
  });
});
