import {
  ISOLATION_LEVELS,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  RISKS,
  SIDE_EFFECTS,
  SOURCE_TYPES,
  TOOL_CATEGORIES,
} from "@sallyport/protocol";
import { pointTo } from "../../match/json-pointer.ts";
import type { Reading } from "../../match/reading.ts";
import type { PartialCall } from "./partial-call.ts";

type Read<Value> = (value: unknown, path: string) => Value | undefined;

/** Reads a partial call from a document; a wrong part is noted and left out. */
export function readPartialCall(value: unknown, path: string, reading: Reading): PartialCall {
  const readers = readersOf(reading);
  const given = reading.object(value, path, Object.keys(readers));
  const call: JsonObject = {};
  for (const [key, read] of Object.entries(readers)) {
    const part = given?.[key] === undefined ? undefined : read(given[key], pointTo(path, key));
    if (part !== undefined) call[key] = part;
  }
  return call as PartialCall;
}

function readersOf(reading: Reading): Record<string, Read<JsonValue>> {
  const text: Read<string> = (value, path) => reading.text(value, path);
  const texts: Read<string[]> = (value, path) => reading.list(value, path, text);
  const word =
    (known: readonly string[]): Read<string> =>
    (value, path) =>
      reading.word(value, path, known);
  return {
    tool: text,
    version: text,
    operation: text,
    input: (value) => value as JsonValue,
    tenant: text,
    agent: text,
    user: text,
    session: text,
    category: word(TOOL_CATEGORIES),
    tags: texts,
    source: word(SOURCE_TYPES),
    securityLevel: (value, path) => reading.number(value, path),
    permissions: (value, path) => readPermissions(value, path, reading),
    capabilities: texts,
    sideEffects: word(SIDE_EFFECTS),
    risk: word(RISKS),
    isolation: word(ISOLATION_LEVELS),
    at: (value, path) => readMoment(value, path, reading),
  };
}

function readMoment(value: unknown, path: string, reading: Reading): number | undefined {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? reading.wrong(path, "must be a time", "such as 2026-01-31T22:00:00Z") : at;
}

/** `filesystem: [/etc]` and `network: [example.com]` will do; read-only and any port are understood. */
function readPermissions(value: unknown, path: string, reading: Reading): JsonObject | undefined {
  const given = reading.object(value, path, ["filesystem", "network", "credentials"]);
  if (!given) return undefined;
  const texts = (key: string) =>
    given[key] === undefined
      ? []
      : reading.list(given[key], pointTo(path, key), (item, at) => entryText(item, at, reading));
  return {
    filesystem: texts("filesystem").map((folder) => ({ path: folder, mode: "ro" })),
    network: texts("network").map((host) => ({ host })),
    credentials: texts("credentials"),
  };
}

function entryText(value: unknown, path: string, reading: Reading): string | undefined {
  const entry = isJsonObject(value) ? (value.path ?? value.host) : value;
  return reading.text(entry, path);
}
