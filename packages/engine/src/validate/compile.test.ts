import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { JsonObject, JsonSchema, JsonValue } from "@sallyport/protocol";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSchemaCompiler } from "./compile.ts";
import { arbitrarySchema, arbitraryValue } from "./fixtures/arbitrary-schema.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const compiler = createSchemaCompiler();

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

/** Ajv's own code breaks for some schemas with patternProperties beside alternatives; then it is no judge. */
function judge(validate: () => boolean): boolean | undefined {
  try {
    return validate();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(TypeError);
    return undefined;
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

  it("is the same as Ajv's for any schema and value", () => {
    const oracle = new Ajv2020({ strict: false, allErrors: true, ownProperties: true, logger: false });
    formats.default(oracle);
    let invalid = 0;
    fc.assert(
      fc.property(arbitrarySchema, arbitraryValue, (schema, value) => {
        const verdict = compiler.compile(schema).validate(value);
        if (!verdict.ok && verdict.kind === "unusable") expect(verdict.failure.code).toBe("E3916");
        else
          expect(verdict.ok).toBe(judge(() => oracle.compile(structuredClone(schema))(value)) ?? verdict.ok);
        invalid += verdict.ok ? 0 : 1;
      }),
      { numRuns: 1000 },
    );
    expect(invalid).toBeGreaterThan(100);
  }, 60_000);

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
    expect(
      pathsOf({ patternProperties: { "^a": true }, unevaluatedProperties: false }, { a: 1, b: 2 }),
    ).toEqual(["/b"]);
  });

  it("is about own properties only", () => {
    expect(pathsOf({ required: ["toString"] }, {})).toEqual(["/toString"]);
    expect(pathsOf({ properties: { constructor: { type: "string" } } }, {})).toEqual([]);
    expect(compiler.compile({ enum: [{ valueOf: 1 }] }).validate({ valueOf: 1 })).toEqual({ ok: true });
  });

  it("lists a hundred issues and counts the rest", () => {
    const verdict = compiler
      .compile({ items: { type: "string" } })
      .validate(Array.from({ length: 130 }, () => 1));
    expect(verdict).toMatchObject({ ok: false, kind: "invalid", more: 30 });
    expect(!verdict.ok && verdict.kind === "invalid" && verdict.issues.length).toBe(100);
  });

  it("stops when there are more errors than anybody reads, also behind references", () => {
    const schema = {
      items: { anyOf: [{ $ref: "#/$defs/s" }, { $ref: "#/$defs/s" }] },
      $defs: { s: { type: "string" } },
    };
    const verdict = compiler.compile(schema).validate(Array.from({ length: 100_000 }, () => 1));
    expect(verdict).toMatchObject({ ok: false, kind: "invalid" });
  });

  it("does not report errors of alternatives that did not matter", () => {
    const schema = { anyOf: [{ items: { type: "string" } }, { items: { type: "number" } }] };
    expect(compiler.compile(schema).validate(Array.from({ length: 5000 }, (_, i) => i))).toEqual({
      ok: true,
    });
    const not = { not: { items: { type: "string" } }, maxItems: 9999 };
    expect(compiler.compile(not).validate(Array.from({ length: 5000 }, () => 1))).toEqual({ ok: true });
    const shared = {
      anyOf: [{ $ref: "#/$defs/s" }, { items: { type: "number" } }],
      $defs: { s: { items: { type: "string" } } },
    };
    expect(compiler.compile(shared).validate(Array.from({ length: 5000 }, (_, i) => i))).toEqual({
      ok: true,
    });
  });
});

describe("an issue says how to solve it [R1-6.1]", () => {
  const cases: [string, JsonSchema, JsonValue, { path: string; reason: string; suggestion: RegExp }][] = [
    [
      "a missing property",
      ADD,
      { left: 1 },
      { path: "/right", reason: "is required but missing", suggestion: /"right"/ },
    ],
    [
      "a misspelt property",
      ADD,
      { left: 1, right: 2, rigth: 3 },
      { path: "/rigth", reason: "is not a known property", suggestion: /Did you mean "right"/ },
    ],
    [
      "a strange property",
      ADD,
      { left: 1, right: 2, colour: 3 },
      { path: "/colour", reason: "is not a known property", suggestion: /left, right/ },
    ],
    [
      "a wrong type",
      { type: ["string", "null"] },
      5,
      { path: "", reason: "must be string or null, but is integer", suggestion: /string/ },
    ],
    [
      "a value outside an enum",
      { enum: ["celsius", "kelvin"] },
      "Celcius",
      {
        path: "",
        reason: "is not one of the allowed values",
        suggestion: /Did you mean "celsius".*"kelvin"/,
      },
    ],
    ["another constant", { const: 1 }, 2, { path: "", reason: "must be 1", suggestion: /1/ }],
    [
      "a bad date",
      { format: "date" },
      "2026-02-30",
      { path: "", reason: "is not a valid date", suggestion: /2026-01-31/ },
    ],
    [
      "a repeated item",
      { uniqueItems: true },
      [{ a: 1, b: 2 }, 3, { b: 2, a: 1 }],
      { path: "", reason: "has equal items at positions 0 and 2", suggestion: /once/ },
    ],
    [
      "a bad property name",
      { propertyNames: { maxLength: 1 } },
      { abc: 1 },
      { path: "/abc", reason: "has a name that must have at most 1 characters", suggestion: /characters/ },
    ],
    [
      "a missing companion",
      { dependentRequired: { a: ["b"] } },
      { a: 1 },
      { path: "/b", reason: 'is required when "a" is there, but missing', suggestion: /"b"/ },
    ],
    ["a small number", { minimum: 3 }, 2, { path: "", reason: "must be at least 3", suggestion: /bounds/ }],
  ];
  it.each(cases)("for %s", (_name, schema, value, expected) => {
    const issue = issueOf(schema, value);
    expect(issue).toMatchObject({ path: expected.path, reason: expected.reason });
    expect(issue?.suggestion).toMatch(expected.suggestion);
  });

  it("without repeating the value, which may be secret", () => {
    const verdict = compiler
      .compile({ properties: { password: { maxLength: 3 } } })
      .validate({ password: "hunter2" });
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
    expect(pathsOf(list, { value: 1, next: { value: 1.5, never: 1 } }).sort()).toEqual([
      "/next/never",
      "/next/value",
    ]);
    expect(pathsOf({ $ref: "#/$defs/a~1b%20%25", $defs: { "a/b %": { type: "integer" } } }, "x")).toEqual([
      "",
    ]);
    const dynamic = {
      $dynamicRef: "#node",
      $ref: "#/$defs/t",
      $defs: { t: { $dynamicAnchor: "node", minimum: 2 } },
    };
    expect(pathsOf(dynamic, 1)).toEqual([""]);
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
  const cases: [string, unknown, RegExp][] = [
    ["another dialect", { $schema: "http://json-schema.org/draft-07/schema#" }, /^\/\$schema .*2020-12/],
    [
      "a remote reference",
      { properties: { a: { $ref: "https://example.com/x" } } },
      /^\/properties\/a\/\$ref .*another document/,
    ],
    ["a reference to nowhere", { $ref: "#/$defs/missing" }, /^\/\$ref .*no schema stands/],
    ["a reference into data", { $ref: "#/enum/0", enum: [{ type: "string" }] }, /no schema stands/],
    ["lookahead", { pattern: "^(?=a)" }, /^\/pattern uses a lookahead/],
    [
      "lookbehind",
      { properties: { p: { pattern: "(?<!a)b" } } },
      /^\/properties\/p\/pattern uses a lookbehind/,
    ],
    [
      "a backreference",
      { patternProperties: { "(a)\\1": true } },
      /^\/patternProperties\/\(a\)\\1 uses a backreference/,
    ],
    ["a broken pattern", { pattern: "(" }, /not a regular expression/],
    ["a huge repetition", { pattern: "a{1,2000}" }, /linear time/],
    ["an unknown format", { format: "dat-time" }, /^\/format "dat-time" is not a known format/],
    ["a list as items", { items: [{ type: "string" }] }, /^\/items must be a schema/],
    ["a wrong type word", { type: "text" }, /^\/type must be one of null/],
    ["a wrong keyword value", { minLength: -1 }, /^\/minLength must be a whole number/],
    ["a boolean exclusiveMinimum", { exclusiveMinimum: true }, /^\/exclusiveMinimum must be a number/],
    ["an embedded document", { $defs: { a: { $id: "https://example.com/a" } } }, /^\/\$defs\/a\/\$id/],
    ["a repeated anchor", { $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } }, /anchor that another/],
    ["an old keyword", { additionalItems: false }, /^\/additionalItems belongs to an older draft/],
    ["a subschema that is none", { anyOf: [1] }, /^\/anyOf\/0 must be a schema/],
    ["an empty allOf", { allOf: [] }, /^\/allOf must be a non-empty list/],
    ["a prototype name", JSON.parse('{"properties":{"__proto__":{}}}'), /^\/properties\/__proto__/],
  ];
  it.each(cases)("for %s", (_name, schema, expected) => {
    const failure = compiler.check(schema);
    expect(failure?.code).toBe("E3015");
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
    expect(compiler.compile({ type: "text" }).validate(1)).toMatchObject({
      ok: false,
      kind: "unusable",
      failure: { code: "E3015" },
    });
  });

  it("exactly when the meta-schema of the dialect refuses it", () => {
    const meta = new Ajv2020({ strict: false, logger: false });
    const odd = fc.constantFrom<JsonValue[]>("text", -1, 1.5, true, null, [], ["a", "a"], {}, { a: 1 }, [1]);
    const keywords = [
      "type",
      "enum",
      "required",
      "minLength",
      "multipleOf",
      "items",
      "properties",
      "allOf",
      "uniqueItems",
      "minimum",
      "dependentRequired",
      "title",
      "not",
    ];
    fc.assert(
      fc.property(fc.constantFrom(...keywords), odd, (keyword, value) => {
        const accepted = meta.validateSchema({ [keyword]: value });
        expect({ keyword, value, accepted: compiler.check({ [keyword]: value }) === undefined }).toEqual({
          keyword,
          value,
          accepted,
        });
      }),
      { numRuns: 1000 },
    );
  });
});

describe("the work budget (E3916)", () => {
  it("ends a validation that takes more steps than allowed and lets the next one run", () => {
    const tight = createSchemaCompiler({ budget: 100 });
    const list = tight.compile({ items: { type: "integer" } });
    expect(list.validate(Array.from({ length: 200 }, () => 1))).toMatchObject({
      ok: false,
      kind: "unusable",
      failure: { code: "E3916" },
    });
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
