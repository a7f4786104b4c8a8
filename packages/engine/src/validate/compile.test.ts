import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  registerSchema,
  setShouldValidateFormat,
  unregisterSchema,
  validate,
} from "@hyperjump/json-schema/draft-2020-12";
import "@hyperjump/json-schema/formats";
import type { JsonObject, JsonSchema, JsonValue } from "@sallyport/protocol";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSchemaCompiler } from "./compile.ts";
import { arbitrarySchema, arbitraryValue } from "./fixtures/arbitrary-schema.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const compiler = createSchemaCompiler();
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

function pathsOf(schema: JsonSchema, value: JsonValue): string[] {
  const verdict = compiler.compile(schema).validate(value);
  return !verdict.ok && verdict.kind === "invalid" ? verdict.issues.map(({ path }) => path) : [];
}

function issueOf(schema: JsonSchema, value: JsonValue) {
  const verdict = compiler.compile(schema).validate(value);
  return !verdict.ok && verdict.kind === "invalid" ? verdict.issues[0] : undefined;
}

function refusal(schema: unknown) {
  return compiler.check(schema)?.issues?.map(({ path, reason }) => `${path} ${reason}`);
}

setShouldValidateFormat(true);
let registered = 0;

/** Another implementation, which judges the unevaluated keywords too. */
async function judge(schema: JsonObject, value: JsonValue): Promise<boolean> {
  registered += 1;
  const uri = `https://schema.example/${registered}`;
  registerSchema(structuredClone(schema), uri, DIALECT);
  try {
    return (await validate(uri, value)).valid;
  } finally {
    unregisterSchema(uri);
  }
}

const ADD: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { left: { type: "number" }, right: { type: "number" } },
  required: ["left", "right"],
  additionalProperties: false,
};

describe("a verdict", () => {
  it("accepts what fits [R1-6.1]", () => {
    expect(compiler.compile(ADD).validate({ left: 1, right: 2 })).toEqual({ ok: true });
  });

  it("names every failing field at once [R1-6.1] [FR-VAL-01] [MCX-1]", () => {
    expect(pathsOf(ADD, { left: "1", rigth: 2 }).sort()).toEqual(["/left", "/right", "/rigth"]);
  });

  it("recurses into what is nested [R1-6.1] [R1-6.2]", () => {
    const schema = { properties: { list: { items: { properties: { "a/b": { type: "string" } } } } } };
    expect(pathsOf(schema, { list: [{}, { "a/b": 1 }] })).toEqual(["/list/1/a~1b"]);
  });

  it("is the same as another implementation's for any schema and value", async () => {
    let invalid = 0;
    await fc.assert(
      fc.asyncProperty(arbitrarySchema, arbitraryValue, async (schema, value) => {
        const verdict = compiler.compile(schema).validate(value);
        if (!verdict.ok && verdict.kind === "unusable") expect(verdict.failure.code).toBe("E3916");
        else expect(verdict.ok).toBe(await judge(schema, value));
        invalid += verdict.ok ? 0 : 1;
      }),
      { numRuns: 200 },
    );
    expect(invalid).toBeGreaterThan(50);
  }, 60_000);

  it("sees __proto__ as any other name, and changes no prototype", () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"type":"number"}},"additionalProperties":false}');
    expect(pathsOf(schema, JSON.parse('{"__proto__":"x","b":1}'))).toEqual(["/__proto__", "/b"]);
    expect(pathsOf(schema, JSON.parse('{"__proto__":1}'))).toEqual([]);
    expect(pathsOf({ required: ["__proto__"] }, {})).toEqual(["/__proto__"]);
    expect(pathsOf(JSON.parse('{"const":{"__proto__":1}}'), {})).toEqual([""]);
    expect(Object.prototype).not.toHaveProperty("type");
  });

  it("keeps the work budget and lists certain errors only up to a number beside unevaluated keywords", () => {
    const items = { items: { properties: { a: { type: "string" } }, unevaluatedProperties: false } };
    const wrong = Array.from({ length: 20_000 }, () => ({ a: 1 }));
    expect(compiler.compile(items).validate(wrong)).toMatchObject({ kind: "invalid", more: 901 });
    const loop = { $ref: "#", unevaluatedItems: false };
    expect(compiler.compile(loop).validate([])).toMatchObject({ failure: { code: "E3916" } });
  });

  it.each([
    [0.3, 0.1, true],
    [19.99, 0.01, true],
    [-4.35, 0.01, true],
    [19.995, 0.01, false],
    [1e21, 3, false],
    [2 ** 53, 1.5, false],
    [1e308, 1e-8, true],
    [1e-7, 1.5, false],
    [0, 1e-300, true],
  ])("knows about %d and multipleOf %d in decimals: %s", (value, multipleOf, isMultiple) => {
    expect(compiler.compile({ multipleOf }).validate(value).ok).toBe(isMultiple);
  });

  it("accepts by the second alternative whatever the first one finds behind a dynamic reference", () => {
    const outer = { $dynamicAnchor: "node", items: { type: "string" } };
    const inner = { $dynamicAnchor: "node" };
    const list = { $id: "list", anyOf: [{ $dynamicRef: "#node" }, true], $defs: { inner } };
    const schema = { $id: "https://example.com/", $ref: "list", $defs: { outer, list } };
    expect(pathsOf(schema, Array(1500).fill(1))).toEqual([]);
  });

  it("never changes the value: no defaults, no coercion, no removal", () => {
    const schema = {
      properties: { a: { type: "number", default: 1 }, b: { default: 2 } },
      additionalProperties: false,
    };
    const value = { a: "5", extra: true };
    compiler.compile(schema).validate(value);
    expect(value).toEqual({ a: "5", extra: true });
  });

  it("holds where patterns and alternatives both tell which properties were evaluated", () => {
    const schema = {
      patternProperties: { "^a": true },
      anyOf: [{ additionalProperties: true, type: "null" }, {}],
      unevaluatedProperties: { type: "integer" },
    };
    expect(compiler.compile(schema).validate({ a: 1, b: 2 })).toEqual({ ok: true });
    const closed = { patternProperties: { "^a": true }, unevaluatedProperties: false };
    expect(pathsOf(closed, { a: 1, b: 2 })).toEqual(["/b"]);
  });

  it("is about own properties only", () => {
    expect(pathsOf({ required: ["toString"] }, {})).toEqual(["/toString"]);
    expect(pathsOf({ properties: { constructor: { type: "string" } } }, {})).toEqual([]);
    expect(compiler.compile({ enum: [{ valueOf: 1 }] }).validate({ valueOf: 1 })).toEqual({ ok: true });
  });

  it("lists a hundred issues and counts the rest", () => {
    const verdict = compiler.compile({ items: { type: "string" } }).validate(Array(130).fill(1));
    expect(verdict).toMatchObject({ ok: false, kind: "invalid", more: 30 });
    expect(!verdict.ok && verdict.kind === "invalid" && verdict.issues.length).toBe(100);
  });

  it("stops when there are more errors than anybody reads, also behind references", () => {
    const text = { $ref: "#/$defs/s" };
    const schema = { items: { anyOf: [text, text] }, $defs: { s: { type: "string" } } };
    expect(compiler.compile(schema).validate(Array(100_000).fill(1))).toMatchObject({ kind: "invalid" });
  });

  it("does not report errors of alternatives that did not matter", () => {
    const texts = { items: { type: "string" } };
    const numbers = { items: { type: "number" } };
    for (const schema of [
      { anyOf: [texts, numbers] },
      { not: texts, maxItems: 9999 },
      { anyOf: [{ $ref: "#/$defs/s" }, numbers], $defs: { s: texts } },
    ])
      expect(compiler.compile(schema).validate(Array(5000).fill(1))).toEqual({ ok: true });
  });
});

describe("an issue says how to solve it [R1-6.1]", () => {
  const sum = { left: 1, right: 2 };
  it.each<[JsonSchema, JsonValue, string, RegExp]>([
    [ADD, { left: 1 }, "/right is required but missing", /"right"/],
    [ADD, { ...sum, rigth: 3 }, "/rigth is not a known property", /Did you mean "right"/],
    [ADD, { ...sum, colour: 3 }, "/colour is not a known property", /left, right/],
    [{ type: ["string", "null"] }, 5, " must be string or null, but is integer", /string/],
    [{ enum: ["celsius", "kelvin"] }, "Celcius", " is not one of the allowed values", /"celsius".*"kelvin"/],
    [{ const: 1 }, 2, " must be 1", /1/],
    [{ format: "date" }, "2026-02-30", " is not a valid date", /2026-01-31/],
    [
      { uniqueItems: true },
      [{ a: 1, b: 2 }, 3, { b: 2, a: 1 }],
      " has equal items at positions 0 and 2",
      /once/,
    ],
    [
      { propertyNames: { maxLength: 1 } },
      { abc: 1 },
      "/abc has a name that must have at most 1 characters",
      /ch/,
    ],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, '/b is required when "a" is there, but missing', /"b"/],
    [{ minimum: 3 }, 2, " must be at least 3", /bounds/],
  ])("for %j and %j: %s", (schema, value, expected, suggestion) => {
    const issue = issueOf(schema, value);
    expect(`${issue?.path} ${issue?.reason}`).toBe(expected);
    expect(issue?.suggestion).toMatch(suggestion);
  });

  it("without repeating the value, which may be secret", () => {
    const schema = { properties: { password: { maxLength: 3 } } };
    const verdict = compiler.compile(schema).validate({ password: "hunter2" });
    expect(JSON.stringify(verdict)).not.toContain("hunter2");
  });
});

describe("a usable schema", () => {
  it("may share its $id with another one", () => {
    const id = "https://example.com/same";
    expect(pathsOf({ $id: id, properties: { a: { type: "string" } } }, { a: 1 })).toEqual(["/a"]);
    expect(pathsOf({ $id: id, properties: { a: { type: "number" } } }, { a: 1 })).toEqual([]);
  });

  it("may refer to definitions, anchors, booleans and itself", () => {
    const list = {
      type: "object",
      properties: { next: { $ref: "#" }, value: { $ref: "#whole" }, never: { $ref: "#/$defs/no" } },
      $defs: { "a/b %": { $anchor: "whole", type: "integer" }, no: false },
    };
    const paths = pathsOf(list, { value: 1, next: { value: 1.5, never: 1 } });
    expect(paths.sort()).toEqual(["/next/never", "/next/value"]);
    const escaped = { $ref: "#/$defs/a~1b%20%25", $defs: { "a/b %": { type: "integer" } } };
    expect(pathsOf(escaped, "x")).toEqual([""]);
    const defs = { t: { $dynamicAnchor: "node", minimum: 2 } };
    expect(pathsOf({ $dynamicRef: "#node", $ref: "#/$defs/t", $defs: defs }, 1)).toEqual([""]);
  });

  it("may be true or false, and name its parts by URI", () => {
    const verdicts = [true, false].map((schema) => compiler.compile(schema).validate(1).ok);
    expect(verdicts).toEqual([true, false]);
    const parts = {
      $id: "https://example.com/root",
      properties: { a: { $ref: "part" }, b: { $ref: "https://example.com/root#/$defs/text" } },
      $defs: {
        text: { type: "string" },
        part: { $id: "/part", $ref: "#n", $defs: { n: { $anchor: "n", minimum: 2 } } },
      },
    };
    expect(pathsOf(parts, { a: 1, b: 1 })).toEqual(["/a", "/b"]);
  });

  it("is compiled once, and equal schemas share the result [NFR-PERF-03]", () => {
    const schema = structuredClone(ADD);
    expect(compiler.compile(schema)).toBe(compiler.compile(schema));
    expect(compiler.compile(structuredClone(schema))).toBe(compiler.compile(schema));
    expect(compiler.compile({ ...schema, minProperties: 1 })).not.toBe(compiler.compile(schema));
  });

  it("leaves nothing behind when it is gone", () => {
    const small = createSchemaCompiler({ maxCached: 10 });
    const heapAfter = (round: number) => {
      for (let index = 0; index < 300; index += 1) {
        small.compile({ enum: [`${round}.${index}.${"x".repeat(5000)}`], pattern: "^[0-9]" });
      }
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    heapAfter(0);
    const before = heapAfter(1);
    for (let round = 2; round < 6; round += 1) heapAfter(round);
    expect(heapAfter(6) - before).toBeLessThan(3 * 1024 * 1024);
  });
});

describe("a schema that is refused (E3015)", () => {
  it.each<[unknown, RegExp]>([
    [{ $schema: "http://json-schema.org/draft-07/schema#" }, /^\/\$schema .*2020-12/],
    [{ properties: { a: { $ref: "https://example.com/x" } } }, /^\/properties\/a\/\$ref .*another document/],
    [{ $ref: "#/$defs/missing" }, /^\/\$ref .*no schema stands/],
    [{ $ref: "#/enum/0", enum: [{ type: "string" }] }, /no schema stands/],
    [{ properties: { p: { pattern: "(?<!a)b" } } }, /^\/properties\/p\/pattern uses a lookbehind/],
    [{ patternProperties: { "(a)\\1": true } }, /^\/patternProperties\/\(a\)\\1 uses a backreference/],
    [{ pattern: "(" }, /not a regular expression/],
    [{ pattern: "a{1,2000}" }, /linear time/],
    [{ format: "dat-time" }, /^\/format "dat-time" is not a known format/],
    [{ items: [{ type: "string" }] }, /^\/items must be a schema/],
    [{ type: "text" }, /^\/type must be one of null/],
    [{ minLength: -1 }, /^\/minLength must be a whole number/],
    [{ exclusiveMinimum: true }, /^\/exclusiveMinimum must be a number/],
    [{ dependencies: { a: ["b", "b"] } }, /^\/dependencies\/a must be a schema or a list of different names/],
    [{ $id: "https://example.com/a#b" }, /^\/\$id must be a URI without/],
    [{ $id: "https://[" }, /^\/\$id must be a URI/],
    [
      { $id: "https://e.com/a", $defs: { b: { $id: "a" } } },
      /^\/\$defs\/b\/\$id is the URI of another schema/,
    ],
    [{ $id: "https://e.com/a", $ref: "b" }, /^\/\$ref .*another document/],
    [{ $defs: { a: { $id: "a", $ref: "#/$defs/b" }, b: true } }, /^\/\$defs\/a\/\$ref .*no schema stands/],
    [{ $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } }, /anchor that another/],
    [{ additionalItems: false }, /^\/additionalItems belongs to an older draft/],
    [{ anyOf: [1] }, /^\/anyOf\/0 must be a schema/],
    [{ allOf: [] }, /^\/allOf must be a non-empty list/],
  ])("for %j", (schema, expected) => {
    expect(compiler.check(schema)?.code).toBe("E3015");
    expect(refusal(schema)?.join("\n")).toMatch(expected);
  });

  it("for its size, depth, number of subschemas or patterns", () => {
    const deep = (levels: number): JsonSchema => (levels === 0 ? {} : { items: deep(levels - 1) });
    const many = (count: number): JsonObject =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, {}]));
    const patterns = Array.from({ length: 300 }, (_, i) => ({ pattern: `a${i}` }));
    expect(compiler.check({ title: "x".repeat(70_000) })?.message).toMatch(/limit 65536/);
    expect(refusal(deep(40))?.[0]).toMatch(/nested deeper than 32/);
    expect(refusal({ properties: many(3000) })).toHaveLength(1);
    expect(refusal({ anyOf: patterns })).toHaveLength(1);
    expect(compiler.check(deep(20))).toBeUndefined();
    expect(compiler.check("text")?.code).toBe("E3015");
  });

  it("gives a validator that refuses everything instead of one that throws", () => {
    const refused = { kind: "unusable", failure: { code: "E3015" } };
    expect(compiler.compile({ type: "text" }).validate(1)).toMatchObject(refused);
  });

  it("exactly when the meta-schema of the dialect refuses it", () => {
    const meta = new Ajv2020({ strict: false, logger: false });
    const odd = fc.constantFrom<JsonValue[]>("text", -1, 1.5, true, null, [], ["a", "a"], {}, { a: 1 }, [1]);
    const keywords =
      "type enum required minLength multipleOf items properties allOf uniqueItems minimum dependentRequired title not";
    fc.assert(
      fc.property(fc.constantFrom(...keywords.split(" ")), odd, (keyword, value) => {
        const accepted = meta.validateSchema({ [keyword]: value });
        expect([keyword, value, compiler.check({ [keyword]: value }) === undefined]).toEqual([
          keyword,
          value,
          accepted,
        ]);
      }),
    );
  });
});

describe("the work budget (E3916)", () => {
  it("ends a validation that takes more steps than allowed and lets the next one run", () => {
    const tight = createSchemaCompiler({ budget: 100 });
    const list = tight.compile({ items: { type: "integer" } });
    expect(list.validate(Array(200).fill(1))).toMatchObject({ kind: "unusable", failure: { code: "E3916" } });
    expect(list.validate([1, 2, 3])).toEqual({ ok: true });
  });

  it("does not keep a large ordinary value from passing", () => {
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}`, tags: ["a", "b"] }));
    const row = {
      type: "object",
      properties: {
        id: { type: "integer" },
        name: { type: "string", maxLength: 99, pattern: "^row" },
        tags: { items: { type: "string" }, uniqueItems: true },
      },
      required: ["id"],
      additionalProperties: false,
    };
    expect(compiler.compile({ type: "array", items: row }).validate(rows)).toEqual({ ok: true });
  });
});
