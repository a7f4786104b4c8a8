import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { z } from "zod";
import { configSchema } from "./schema.ts";

/** The configuration's JSON Schema, for editors. */
export function configJsonSchema(): JsonObject {
  const schema = z.toJSONSchema(configSchema, { io: "input" }) as JsonObject;
  return { ...schema, title: "Sallyport configuration" };
}

const INTRODUCTION = `# Configuration

Written from the schema by \`npm run docs\`; do not edit.

Sallyport reads \`sallyport.yaml\` in the current folder, or the file given with \`--config\`. Paths in it are relative to it.
An unknown or wrong key stops the start with file, line and the nearest known key. For editors there is a JSON Schema,
[sallyport.schema.json](sallyport.schema.json):

\`\`\`yaml
# yaml-language-server: $schema=./docs/sallyport.schema.json
tools:
  - ./tools/greet.ts
grants:
  - id: anyone-may-greet
    tools: [greet]
\`\`\`

| key | type | default | meaning |
|---|---|---|---|
`;

/** Every key with its type, default and meaning. */
export function renderConfigDoc(): string {
  return `${INTRODUCTION}${rows(configJsonSchema(), "").join("\n")}\n`;
}

function rows(schema: JsonObject, prefix: string): string[] {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  return Object.entries(properties).flatMap(([name, value]) =>
    isJsonObject(value) ? rowsOf(value, prefix + name) : [],
  );
}

function rowsOf(schema: JsonObject, key: string): string[] {
  const own = `| \`${key}\` | ${typeOf(schema)} | ${defaultOf(schema)} | ${String(schema.description ?? "")} |`;
  const items = isJsonObject(schema.items) ? schema.items : undefined;
  const choices = items && Array.isArray(items.anyOf) ? items.anyOf.filter(isJsonObject) : [];
  const below = items
    ? [items, ...choices].flatMap((item) => rows(item, `${key}[].`))
    : rows(schema, `${key}.`);
  return [own, ...below];
}

function typeOf(schema: JsonObject): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${String(value)}\``).join(", ");
  return schema.type === "array" ? "list" : String(schema.type ?? "any");
}

function defaultOf(schema: JsonObject): string {
  const value: JsonValue | undefined = schema.default;
  const isEmptyObject = isJsonObject(value) && Object.keys(value).length === 0;
  return value === undefined || isEmptyObject ? "" : `\`${JSON.stringify(value)}\``;
}
