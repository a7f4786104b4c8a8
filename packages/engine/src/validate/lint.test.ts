import type { JsonSchema } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createSchemaCompiler } from "./compile.ts";
import { lintSchema } from "./lint.ts";

const compiler = createSchemaCompiler();
const lint = (schema: JsonSchema) => lintSchema(schema, (each) => compiler.check(each));
const found = (schema: JsonSchema) =>
  lint(schema).map(({ rule, path, severity }) => `${severity} ${rule} ${path}`);

const GOOD: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    city: { type: "string", description: "City name." },
    days: { type: "array", description: "Which days.", items: { type: "integer" } },
  },
  required: ["city"],
  additionalProperties: false,
};

describe("schema quality [R1-6.3]", () => {
  it("has nothing to say about a good schema", () => {
    expect(lint(GOOD)).toEqual([]);
  });

  it("asks for the dialect", () => {
    const { $schema: _dialect, ...rest } = GOOD;
    expect(found(rest)).toEqual(["error dialect-declared "]);
  });

  it("asks for a type and a description of every property, nested ones too", () => {
    const nested = {
      type: "object",
      properties: { x: { minimum: 1 } },
      required: [],
      additionalProperties: false,
    };
    const schema = {
      ...GOOD,
      properties: { ...(GOOD.properties as object), deep: { ...nested, description: " " } },
    };
    expect(found(schema).sort()).toEqual([
      "error property-description /properties/deep",
      "error property-description /properties/deep/properties/x",
      "error property-type /properties/deep/properties/x",
    ]);
  });

  it("takes a reference or an enum for a type", () => {
    const properties = { a: { $ref: "#/$defs/d", description: "A." }, b: { enum: [1], description: "B." } };
    expect(found({ ...GOOD, properties, $defs: { d: { type: "string" } } })).toEqual([]);
  });

  it("asks for required and for closed objects", () => {
    const { required: _required, additionalProperties: _additional, ...rest } = GOOD;
    expect(found(rest)).toEqual(["warning closed-object ", "error required-given "]);
    expect(found({ ...rest, required: [], unevaluatedProperties: false })).toEqual([]);
  });

  it("points at keywords that have no effect, except extensions", () => {
    const findings = lint({ ...GOOD, requird: ["city"], "x-order": 1 });
    expect(findings.map(({ path, suggestion }) => [path, suggestion])).toEqual([
      ["/requird", 'Did you mean "required"?'],
    ]);
  });

  it("does not take a property for a keyword", () => {
    const properties = {
      format: { type: "string", description: "F." },
      properties: { type: "string", description: "P." },
    };
    expect(found({ ...GOOD, properties, required: [] })).toEqual([]);
  });

  it("reports what makes a schema invalid", () => {
    expect(found({ ...GOOD, properties: { a: { type: "text" } } })).toEqual([
      "error valid /properties/a/type",
    ]);
  });
});
