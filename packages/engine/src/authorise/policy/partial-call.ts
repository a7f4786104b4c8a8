import {
  type Caller,
  DEFAULT_OPERATION,
  ISOLATION_LEVELS,
  isJsonObject,
  LIMIT_NAMES,
  type Permissions,
  RISKS,
  SIDE_EFFECTS,
  SOURCE_TYPES,
  TOOL_CATEGORIES,
} from "@sallyport/protocol";
import type { DocumentNode } from "../../match/document.ts";
import type { PolicyRequest } from "../../ports/authority.ts";

/** A call of which any part may be left out, as in the examples of a rule. */
export type PartialCall = Partial<
  Omit<PolicyRequest, "caller" | "requiredCapabilities" | "permissions"> & Caller
> & { capabilities?: string[]; permissions?: Partial<Permissions> };

type Reader<Value> = (node: DocumentNode) => Value | undefined;

const text: Reader<string> = (node) => node.text();
const texts: Reader<string[]> = (node) => node.list(text);

/** A Wednesday at noon. */
const WORKING_HOURS = Date.UTC(2026, 0, 7, 12);

/** What an example may say of a call: how it is read, and the harmless value of a part that is left out. */
const PARTS: {
  [Key in Exclude<keyof PartialCall, "manifestHash" | "limits">]-?: [
    Reader<PartialCall[Key]>,
    PartialCall[Key]?,
  ];
} = {
  tool: [text, "example"],
  version: [text, "1.0.0"],
  operation: [text, DEFAULT_OPERATION],
  input: [({ value }) => value, {}],
  tenant: [text, "example"],
  agent: [text, "example"],
  user: [text],
  userVerified: [(node) => node.boolean()],
  session: [text],
  category: [(node) => node.word(TOOL_CATEGORIES), "computation"],
  tags: [texts, []],
  source: [(node) => node.word(SOURCE_TYPES), "native"],
  securityLevel: [(node) => node.number(), 0],
  permissions: [readPermissions, {}],
  capabilities: [texts, []],
  sideEffects: [(node) => node.word(SIDE_EFFECTS), "none"],
  risk: [(node) => node.word(RISKS), "low"],
  isolation: [(node) => node.word(ISOLATION_LEVELS), "LEVEL_2"],
  unheldLimits: [(node) => node.words(LIMIT_NAMES)],
  at: [readTime, WORKING_HOURS],
};

const DEFAULTS = Object.fromEntries(
  Object.entries(PARTS).flatMap(([key, [, value]]) => (value === undefined ? [] : [[key, value]])),
) as Required<
  Omit<PartialCall, "user" | "session" | "userVerified" | "unheldLimits" | "limits" | "manifestHash">
>;

/** The whole call: missing parts get harmless values. */
export function completeCall(partial: PartialCall): PolicyRequest {
  const { tenant, agent, user, session, capabilities, permissions, ...said } = { ...DEFAULTS, ...partial };
  return {
    manifestHash: "",
    ...said,
    caller: { tenant, agent, ...(user !== undefined && { user }), ...(session !== undefined && { session }) },
    requiredCapabilities: capabilities,
    permissions: { filesystem: [], network: [], credentials: [], ...permissions },
  };
}

/** Reads a partial call from a document; a wrong part is noted and left out. */
export function readPartialCall(node: DocumentNode): PartialCall {
  const parts: Readonly<Record<string, [Reader<unknown>, unknown?]>> = PARTS;
  const read = (node.keys(Object.keys(parts)) ?? []).map((key) => [key, parts[key]?.[0](node.at(key))]);
  return Object.fromEntries(read.filter(([, part]) => part !== undefined));
}

function readTime(node: DocumentNode): number | undefined {
  const at = typeof node.value === "string" ? Date.parse(node.value) : Number.NaN;
  return Number.isNaN(at) ? node.wrong("must be a time", "such as 2026-01-31T22:00:00Z") : at;
}

/** `filesystem: [/etc]` and `network: [example.com]` will do; read-only and any port are understood. */
function readPermissions(node: DocumentNode): Permissions | undefined {
  if (!node.keys(["filesystem", "network", "credentials"])) return undefined;
  const entries = (key: string) => node.optional(key, (list) => list.list(readEntry), []);
  return {
    filesystem: entries("filesystem").map((path) => ({ path, mode: "ro" })),
    network: entries("network").map((host) => ({ host })),
    credentials: entries("credentials"),
  };
}

function readEntry(node: DocumentNode): string | undefined {
  if (!isJsonObject(node.value)) return node.text();
  return node.at(node.has("path") ? "path" : "host").text();
}
