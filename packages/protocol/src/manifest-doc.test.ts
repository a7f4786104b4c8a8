import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { manifestDialect } from "./manifest-dialects.ts";
import { L3_MANIFEST_SCHEMA, MANIFEST_SCHEMA, R1_DECLARATION_SCHEMA } from "./manifest-schema.ts";

const DOC = readFileSync(new URL("../../../docs/manifest.md", import.meta.url), "utf8");
const EXAMPLES = [...DOC.matchAll(/```json\n(.*?)```/gs)].map(([, text]) => JSON.parse(text ?? ""));
const SCHEMAS = { canonical: MANIFEST_SCHEMA, r1: R1_DECLARATION_SCHEMA, l3: L3_MANIFEST_SCHEMA };

describe("docs/manifest.md", () => {
  it("shows one example of each dialect", () => {
    expect(EXAMPLES.map(manifestDialect)).toEqual(["canonical", "r1", "l3"]);
  });

  it.each(EXAMPLES)("shows a valid example %#", (example) => {
    const ajv = new Ajv2020({ strict: true, allErrors: true });
    ajv.validate(SCHEMAS[manifestDialect(example)], example);
    expect(ajv.errors ?? []).toEqual([]);
  });

  it.each(Object.keys(MANIFEST_SCHEMA.properties))("has a row for %s", (field) => {
    expect(DOC).toContain(`\n| \`${field}\` |`);
  });

  it.each(Object.keys(MANIFEST_SCHEMA.properties.limits.properties))("mentions the limit %s", (limit) => {
    expect(DOC).toContain(`\`${limit}\``);
  });
});
