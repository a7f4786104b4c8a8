import { createSchemaCompiler } from "@sallyport/engine/host";
import { describe, expect, it } from "vitest";
import { sampleInput } from "./sample-input.ts";

const $schema = "https://json-schema.org/draft/2020-12/schema";

describe("a made-up input", () => {
  it.each([
    [{ type: "object" }, {}],
    [
      { type: "object", properties: { a: { type: "string" }, b: { type: "number" } }, required: ["a"] },
      { a: "example" },
    ],
    [
      { type: "object", properties: { n: { type: "string", examples: ["Ada"] } }, required: ["n"] },
      { n: "Ada" },
    ],
    [{ type: "string", enum: ["x", "y"] }, "x"],
    [{ const: 7 }, 7],
    [{ type: "integer", default: 3 }, 3],
    [{ type: "integer", minimum: 10, maximum: 12 }, 10],
    [{ type: "integer", exclusiveMinimum: 0, maximum: 1 }, 1],
    [{ type: "string", minLength: 9 }, "exampleex"],
    [{ type: "string", maxLength: 3 }, "exa"],
    [{ type: "array", items: { type: "boolean" }, minItems: 2 }, [true, true]],
    [{ type: "array", items: { type: "string" } }, []],
    [{ anyOf: [{ type: "null" }, { type: "string" }] }, null],
    [{ type: ["string", "null"] }, "example"],
  ])("fits %j", (schema, expected) => {
    const sample = sampleInput(schema);
    expect(sample).toEqual(expected);
    const verdict = createSchemaCompiler()
      .compile({ $schema, ...schema })
      .validate(sample ?? null);
    expect(verdict.ok).toBe(true);
  });

  it.each([
    [{}],
    [{ $ref: "#/$defs/x" }],
    [{ type: "object", required: ["a"] }],
    [{ type: "object", properties: { a: {} }, required: ["a"] }],
    [{ type: "array", minItems: 1 }],
  ])("is left out where nobody can tell: %j", (schema) => {
    expect(sampleInput(schema)).toBeUndefined();
  });
});
