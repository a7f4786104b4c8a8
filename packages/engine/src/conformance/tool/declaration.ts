import { isDeepStrictEqual } from "node:util";
import {
  type JsonSchema,
  MANIFEST_SCHEMA,
  type OperationManifest,
  type ToolManifest,
} from "@sallyport/protocol";
import type { ToolRecord } from "../../ports/tool-records.ts";
import { manifestHash } from "../../registry/index.ts";
import { lintSchema, type SchemaCompiler } from "../../validate/index.ts";
import { Findings, type Seen } from "../box.ts";

/** The manifest as kept fits its schema, says what it is for, and is the one that was registered. */
export function metadata({ manifest, manifestHash: kept }: ToolRecord, schemas: SchemaCompiler): Seen {
  const found = new Findings();
  const verdict = schemas.compile(MANIFEST_SCHEMA).validate(JSON.parse(JSON.stringify(manifest)));
  if (!verdict.ok) {
    const issues =
      verdict.kind === "invalid" ? verdict.issues : [{ path: "", reason: verdict.failure.message }];
    for (const { path, reason } of issues) found.expect(false, `${path || "/"} ${reason}`);
    return found.conclude("");
  }
  const unsaid = [manifest, ...Object.values(manifest.operations)].filter(
    ({ description }) => !description.trim(),
  );
  found.expect(unsaid.length === 0 && manifest.name.trim() !== "", "a name or description is empty");
  found.expect(manifestHash(manifest) === kept, "the manifest is not the one that was registered");
  return found.conclude(
    `${Object.keys(manifest.operations).length} operation(s), manifest ${kept.slice(0, 12)}`,
  );
}

/** Every operation has an input schema that compiles and keeps the quality rules. */
export function inputSchemas({ manifest }: ToolRecord, schemas: SchemaCompiler): Seen {
  return schemaBox(manifest, ({ inputSchema }) => inputSchema, schemas);
}

/** Every operation has an output schema that compiles and keeps the quality rules. */
export function outputSchemas({ manifest }: ToolRecord, schemas: SchemaCompiler): Seen {
  return schemaBox(manifest, ({ outputSchema }) => outputSchema, schemas);
}

function schemaBox(
  { operations }: ToolManifest,
  pick: (operation: OperationManifest) => JsonSchema | undefined,
  schemas: SchemaCompiler,
): Seen {
  const found = new Findings();
  for (const [name, operation] of Object.entries(operations)) {
    const schema = pick(operation);
    found.expect(schema !== undefined, `${name} declares none`);
    const errors = schema ? lintSchema(schema, (given) => schemas.check(given)) : [];
    for (const { path, message, severity } of errors) {
      found.expect(severity !== "error", `${name}: ${path || "/"} ${message}`);
    }
  }
  return found.conclude(`${Object.keys(operations).join(", ")}: JSON Schema 2020-12, compiles`);
}

/** The capabilities are a list of distinct names; a tool that needs none says so with an empty one. */
export function capabilities({ manifest }: ToolRecord): Seen {
  const found = new Findings();
  const lists = [manifest.requiredCapabilities, ...stated(manifest, "requiredCapabilities")];
  for (const list of lists) {
    const isList = Array.isArray(list) && list.every((name) => typeof name === "string" && name !== "");
    found.expect(isList, "requiredCapabilities is not a list of names");
    found.expect(!isList || isDeepStrictEqual([...new Set(list)], [...list]), "a capability is named twice");
  }
  return found.conclude(`needs ${[...new Set(lists.flat())].join(", ") || "none"}`);
}

/** Time and memory are bounded, by positive whole numbers. */
export function limits({ manifest }: ToolRecord): Seen {
  const { timeoutMs, memoryBytes } = manifest.limits;
  const found = new Findings();
  found.expect(isBound(timeoutMs), "no limit of time");
  found.expect(isBound(memoryBytes), "no limit of memory");
  for (const own of stated(manifest, "timeoutMs"))
    found.expect(isBound(own), "an operation has no limit of time");
  return found.conclude(`${timeoutMs} ms, ${memoryBytes} bytes`);
}

/** A yes or a no is on record, for the tool and for each operation that speaks for itself. */
export function property({ manifest }: ToolRecord, name: "deterministic" | "idempotent"): Seen {
  const found = new Findings();
  for (const value of [manifest[name], ...stated(manifest, name)]) {
    found.expect(typeof value === "boolean", `${name} is ${JSON.stringify(value)}, neither yes nor no`);
  }
  return found.conclude(`${name}: ${manifest[name]}`);
}

function stated<Key extends keyof OperationManifest>({ operations }: ToolManifest, key: Key) {
  return Object.values(operations).flatMap((operation) => {
    const value = operation[key];
    return value === undefined ? [] : [value as Exclude<OperationManifest[Key], undefined>];
  });
}

function isBound(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
