import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { type ConfigKey, configKeys } from "./config-keys.ts";
import { choicesOf } from "./schema-tree.ts";

export { configJsonSchema } from "./schema-tree.ts";

const INTRODUCTION = `# Configuration

Written from the schema by \`npm run docs\`; do not edit.

Sallyport reads \`sallyport.yaml\` in the current folder, or the file given with \`--config\`. Paths in it are relative to it.
An unknown or wrong key stops the start with file, line, column, what was expected and the nearest known key.

| to do | run |
|---|---|
| make one that works, with an example tool and keys | \`sallyport init\` |
| check one, the modules of its tools too (they are loaded, those with \`runner: script\` in their sandbox); see what differs from the defaults | \`sallyport config check\` |
| see where every value comes from | \`sallyport config check --all\` |
| read about a key, and what it is set to | \`sallyport config explain http.port\` |
| apply a changed file to a running server | \`kill -HUP\` ([serve](operate/serve.md)) |

For editors there is a JSON Schema, [sallyport.schema.json](sallyport.schema.json); \`sallyport config schema\` prints it:

\`\`\`yaml
# yaml-language-server: $schema=./docs/sallyport.schema.json
tools:
  - ./tools/greet.ts
grants:
  - id: anyone-may-greet
    tools: [greet]
\`\`\`

## Where a value comes from

Flags of the command override the environment, which overrides the file, which overrides the defaults.

A variable sets one key: \`SALLYPORT__\`, then the steps of the key with \`__\` between them, such as \`SALLYPORT__HTTP__PORT=8080\` for
\`http.port\` and \`SALLYPORT__LIMITS__QUEUED_CALLS=500\` for \`limits.queuedCalls\`. Upper and lower case are the same, and a single
\`_\` may stand between words. The value is read as YAML, so lists and whole parts are written as
\`SALLYPORT__HTTP__ALLOWED_HOSTS='[tools.example]'\`; paths are relative to the file, as in it. List items, and map entries that the
file does not define, cannot be set by variable. A variable for an unknown key stops the start.

## Every key

Keys marked ↻ are applied to a running server by a reload; other keys need a restart.

| key | type | default | meaning |
|---|---|---|---|
`;

/** Every key with its type, default, meaning and whether a reload applies it. */
export function renderConfigDoc(): string {
  return `${INTRODUCTION}${configKeys().map(row).join("\n")}\n`;
}

function row({ key, schema, description, default: value, reloaded }: ConfigKey): string {
  const mark = reloaded ? " ↻" : "";
  return `| \`${key}\`${mark} | ${cell(typeText(schema))} | ${defaultText(value)} | ${cell(description)} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

/** What kind of value a schema takes, in a word or two. */
export function typeText(schema: JsonObject): string {
  const choices = choicesOf(schema);
  if (choices.length > 1) return [...new Set(choices.map(typeText))].join(" or ");
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${String(value)}\``).join(", ");
  return schema.type === "array" ? "list" : String(schema.type ?? "any");
}

function defaultText(value: JsonValue | undefined): string {
  const isEmptyObject = isJsonObject(value) && Object.keys(value).length === 0;
  return value === undefined || isEmptyObject ? "" : `\`${JSON.stringify(value)}\``;
}
