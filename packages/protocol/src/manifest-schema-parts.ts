import type { JsonSchema } from "./json.ts";
import { RISKS, SIDE_EFFECTS } from "./manifest.ts";

export const SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema";
export const SCHEMA_BASE = "https://sallyport.dev/schemas";

/** Wide enough for every dialect's ids, `mcp:server:tool` included; never a path or a space. */
export const TOOL_ID_PATTERN = "^[A-Za-z][A-Za-z0-9_.:-]{0,254}$";
export const OPERATION_NAME_PATTERN = "^[A-Za-z][A-Za-z0-9_.-]{0,127}$";

const NUMBER = "(?:0|[1-9][0-9]*)";
const PRERELEASE = `(?:${NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`;
/** SemVer without build metadata: two versions that differ only there would have no order. */
export const VERSION_PATTERN = `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-${PRERELEASE}(?:\\.${PRERELEASE})*)?$`;

const DAY_MS = 86_400_000;

/** Schema of a text that must not be empty. */
export function text(description: string, maxLength = 2000) {
  return { type: "string" as const, minLength: 1, maxLength, description } satisfies JsonSchema;
}

export function flag(description: string) {
  return { type: "boolean", description } satisfies JsonSchema;
}

/** Schema of a whole number from `minimum` on; 1 when left out, because a limit of nothing limits everything. */
export function count(description: string, minimum = 1) {
  return { type: "integer", minimum, description } satisfies JsonSchema;
}

/** Schema of one word of a closed vocabulary. */
export function choice(description: string, words: readonly string[]) {
  return { type: "string", enum: [...words], description } satisfies JsonSchema;
}

/** Schema of a list of texts in which none occurs twice. */
export function listOf(items: JsonSchema & { type: "string" }, description: string) {
  return { type: "array", items, uniqueItems: true, description } satisfies JsonSchema;
}

/** Schema of a list of objects. Equal ones do no harm, and comparing hostile objects does. */
export function rowsOf(items: JsonSchema, description: string) {
  return { type: "array", items, description } satisfies JsonSchema;
}

/** Schema of an object of any content, such as a contained schema, which only a schema compiler can judge. */
export function anyObject(description: string) {
  return { type: "object", description } satisfies JsonSchema;
}

/** Schema of an object that has these properties and no other. */
export function closedObject<P extends Record<string, JsonSchema>>(
  description: string,
  properties: P,
  required: readonly (keyof P & string)[] = [],
) {
  return {
    type: "object",
    description,
    properties,
    required: [...required],
    additionalProperties: false,
  } satisfies JsonSchema;
}

export const TOOL_ID = { type: "string", pattern: TOOL_ID_PATTERN, description: "Unique id of the tool." };

export const VERSION = {
  type: "string",
  maxLength: 256,
  pattern: VERSION_PATTERN,
  description: "SemVer version; a registered one never changes.",
};

/** At most a day, which every timer can hold. */
export const TIMEOUT_MS = {
  ...count("Wall-clock milliseconds one execution may take."),
  maximum: DAY_MS,
};

/** The fields of Conduct, which a tool and each of its operations may state. */
export const CONDUCT_PROPERTIES = {
  requiredCapabilities: listOf(text("A capability id.", 255), "Capabilities the caller must be granted."),
  sideEffects: choice(
    "What a call can change: nothing, only transactional state, or anything outside.",
    SIDE_EFFECTS,
  ),
  deterministic: flag("The same input and state always give the same result."),
  idempotent: flag("Running it twice has the effect of running it once."),
  requiresApproval: flag("A person must approve each call."),
  risk: choice("How much harm a wrong call can do.", RISKS),
};

const HOST = closedObject(
  "One host.",
  {
    host: text("Host name or address.", 255),
    port: { type: "integer", minimum: 1, maximum: 65535, description: "Port; any when left out." },
  },
  ["host"],
);

/** Schema of permissions; `mode` may be left out only where the dialect knows a default for it. */
export function permissions(pathNeeds: readonly ("path" | "mode")[]) {
  const path = {
    path: text("Path the tool may use.", 4096),
    mode: choice("Read only, or read and write.", ["ro", "rw"]),
  };
  return closedObject("What the tool may touch while it runs; nothing unless listed.", {
    filesystem: rowsOf(closedObject("One folder or file.", path, pathNeeds), "Paths the tool may use."),
    network: rowsOf(HOST, "Hosts the tool may connect to."),
    credentials: listOf(text("Name of a stored secret.", 255), "Secrets the tool may use, by name."),
  });
}
