import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { JsonSchema, JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createSchemaCompiler, type SchemaCompiler } from "./index.ts";

interface Group {
  file: string;
  description: string;
  schema: JsonSchema | boolean;
  tests: { description: string; data: JsonValue; valid: boolean }[];
}

function linesOf<Line>(name: string): Line[] {
  const text = readFileSync(new URL(`fixtures/json-schema-suite/${name}`, import.meta.url), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const groups = linesOf<Group>("draft2020-12.jsonl");
const remotes = linesOf<{ uri: string; schema: JsonSchema }>("remotes.jsonl");

const META = ["schema", "meta/applicator", "meta/content", "meta/core", "meta/format-annotation"];
META.push("meta/meta-data", "meta/unevaluated", "meta/validation");
const require = createRequire(import.meta.url);
const documents = new Map<string, JsonSchema>([
  ...META.map((name): [string, JsonSchema] => [
    `https://json-schema.org/draft/2020-12/${name}`,
    require(`ajv/dist/refs/json-schema-2020-12/${name}.json`),
  ]),
  ...remotes.map(({ uri, schema }): [string, JsonSchema] => [uri, schema]),
]);

/** Groups whose schema names a document that is not part of it. */
const NAMES_A_DOCUMENT = [
  "defs: validate definition against metaschema",
  "dynamicRef: strict-tree schema, guards against misspelled properties",
  "dynamicRef: tests for implementation dynamic anchor and reference link",
  "dynamicRef: $ref and $dynamicAnchor are independent of order - $defs first",
  "dynamicRef: $ref and $dynamicAnchor are independent of order - $ref first",
  "dynamicRef: $ref to $dynamicRef finds detached $dynamicAnchor",
  "ref: remote ref, containing refs itself",
  "refRemote: remote ref",
  "refRemote: fragment within remote ref",
  "refRemote: anchor within remote ref",
  "refRemote: ref within remote ref",
  "refRemote: base URI change",
  "refRemote: base URI change - change folder",
  "refRemote: base URI change - change folder in subschema",
  "refRemote: root ref in remote ref",
  "refRemote: remote ref with ref to defs",
  "refRemote: Location-independent identifier in remote ref",
  "refRemote: retrieved nested refs resolve relative to their URI not $id",
  "refRemote: remote HTTP ref with different $id",
  "refRemote: remote HTTP ref with different URN $id",
  "refRemote: remote HTTP ref with nested absolute ref",
  "refRemote: $ref to $ref finds detached $anchor",
];

/** Groups whose schema is written in a dialect of its own. */
const ANOTHER_DIALECT = [
  "vocabulary: schema that uses custom metaschema with with no validation vocabulary",
  "vocabulary: ignore unrecognized optional vocabulary",
];

/** `format` is checked, as the standard lets an implementation choose; the suite expects that it is not. */
const STRICTER = /^format: .* format: invalid .* string is only an annotation by default$/;

function judged(compiler: SchemaCompiler) {
  const refused: string[] = [];
  const wrong: string[] = [];
  let cases = 0;
  let right = 0;
  for (const { file, description, schema, tests } of groups) {
    cases += tests.length;
    if (compiler.check(schema)) {
      refused.push(`${file}: ${description}`);
      continue;
    }
    for (const { data, valid, ...test } of tests) {
      const verdict = compiler.compile(schema).validate(data);
      const isRight = verdict.ok ? valid : verdict.kind === "invalid" && !valid;
      right += isRight ? 1 : 0;
      if (!isRight) wrong.push(`${file}: ${description}: ${test.description}`);
    }
  }
  const stricter = wrong.filter((name) => STRICTER.test(name));
  return { refused, stricter, wrong: wrong.filter((name) => !STRICTER.test(name)), share: right / cases };
}

describe("the official test suite of JSON Schema 2020-12, its required part [R1-6.1] [FR-VAL-01]", () => {
  it.each([
    { name: "alone", given: new Map(), refused: [...NAMES_A_DOCUMENT, ...ANOTHER_DIALECT], least: 0.94 },
    { name: "with the documents it names", given: documents, refused: ANOTHER_DIALECT, least: 0.97 },
  ])("gets no wrong verdict $name, and is refused only where listed", ({ given, refused, least }) => {
    const result = judged(createSchemaCompiler({ documents: given }));
    expect(result.wrong).toEqual([]);
    expect(result.stricter).toHaveLength(18);
    expect(result.refused).toEqual(refused);
    expect(result.share).toBeGreaterThan(least);
  });
});
