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

type Nested = "caller" | "requiredCapabilities" | "permissions";

/** A call of which any part may be left out, as in the examples of a rule. */
export type PartialCall = Partial<Omit<PolicyRequest, Nested> & Caller> & {
  capabilities?: string[];
  permissions?: Partial<Permissions>;
};

/** A Wednesday at noon. */
const WORKING_HOURS = Date.UTC(2026, 0, 7, 12);

/** The whole call: missing parts get harmless values. */
export function completeCall(partial: PartialCall): PolicyRequest {
  const {
    tenant = "example",
    agent = "example",
    user,
    session,
    capabilities,
    permissions,
    ...said
  } = partial;
  return {
    tool: "example",
    version: "1.0.0",
    operation: DEFAULT_OPERATION,
    manifestHash: "",
    category: "computation",
    tags: [],
    source: "native",
    securityLevel: 0,
    sideEffects: "none",
    risk: "low",
    isolation: "LEVEL_2",
    input: {},
    at: WORKING_HOURS,
    ...said,
    caller: { tenant, agent, ...(user !== undefined && { user }), ...(session !== undefined && { session }) },
    requiredCapabilities: capabilities ?? [],
    permissions: { filesystem: [], network: [], credentials: [], ...permissions },
  };
}

type Reader<Value> = (node: DocumentNode) => Value | undefined;

const text: Reader<string> = (node) => node.text();
const texts: Reader<string[]> = (node) => node.list(text);

/** What an example may say of a call, and how it is read. */
const READERS: {
  [Key in Exclude<keyof PartialCall, "manifestHash" | "limits">]-?: Reader<PartialCall[Key]>;
} = {
  tool: text,
  version: text,
  operation: text,
  input: ({ value }) => value,
  tenant: text,
  agent: text,
  user: text,
  userVerified: (node) => node.boolean(),
  session: text,
  category: (node) => node.word(TOOL_CATEGORIES),
  tags: texts,
  source: (node) => node.word(SOURCE_TYPES),
  securityLevel: (node) => node.number(),
  permissions: readPermissions,
  capabilities: texts,
  sideEffects: (node) => node.word(SIDE_EFFECTS),
  risk: (node) => node.word(RISKS),
  isolation: (node) => node.word(ISOLATION_LEVELS),
  unheldLimits: (node) => node.words(LIMIT_NAMES),
  at: readTime,
};

/** Reads a partial call from a document; a wrong part is noted and left out. */
export function readPartialCall(node: DocumentNode): PartialCall {
  const readers: Readonly<Record<string, Reader<unknown>>> = READERS;
  const parts = (node.keys(Object.keys(readers)) ?? []).map((key) => [key, readers[key]?.(node.at(key))]);
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined));
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
