import {
  absentOr,
  anyObject,
  described,
  exactRecord,
  fieldOf,
  flag,
  type Infer,
  mapOf,
  nameText,
  oneOf,
  reject,
  textUpTo,
  wholeNumber,
} from "./fields.ts";
import {
  accessModeField,
  atLeast,
  attemptsField,
  capabilitiesField,
  deterministicField,
  errorNamesField,
  idempotentField,
  percentField,
  permissionsField,
  publishedSchema,
  setOf,
  tagsField,
  timeoutField,
  toolIdField,
  versionField,
} from "./manifest-fields.ts";

export const TOOL_CATEGORIES = [
  "data_access",
  "computation",
  "external_api",
  "file_system",
  "llm_interaction",
] as const;
export type ToolCategory = (typeof TOOL_CATEGORIES)[number];

export const SOURCE_TYPES = ["native", "mcp", "openapi", "langchain"] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

export const TOOL_STATUSES = ["active", "inactive", "error", "maintenance", "pending"] as const;
/** Whether the tool may be called at all (MCXP-1): only an active one runs. */
export type ToolStatus = (typeof TOOL_STATUSES)[number];

export const RISKS = ["low", "medium", "high", "critical"] as const;
/** How much harm a wrong call can do; policy decides by it whom to ask. */
export type Risk = (typeof RISKS)[number];

export const SIDE_EFFECTS = ["none", "state", "external"] as const;
/**
 * What a call can change. `none`: nothing. `state`: only Sallyport's transactional state, which commits with the
 * outcome or not at all. `external`: anything, so a crash while it runs leaves the outcome unknown.
 */
export type SideEffects = (typeof SIDE_EFFECTS)[number];

/** What a tool and each of its operations may say about a call; an operation's own word goes before the tool's. */
const traits = {
  requiredCapabilities: absentOr(capabilitiesField),
  sideEffects: absentOr(
    oneOf(SIDE_EFFECTS),
    "What a call can change: nothing, only transactional state, or anything outside.",
  ),
  deterministic: absentOr(deterministicField),
  idempotent: absentOr(idempotentField),
  requiresApproval: absentOr(flag, "A person must approve each call."),
  risk: absentOr(oneOf(RISKS), "How much harm a wrong call can do."),
};
const traitsField = exactRecord(traits);
/** What is known of a call: an operation's own word, else the tool's. */
export type Traits = Required<Infer<typeof traitsField>>;

const operationField = exactRecord({
  description: described(textUpTo(2_000), "What the operation does, for the model that chooses it."),
  inputSchema: described(anyObject, "JSON Schema 2020-12 of the input."),
  outputSchema: absentOr(anyObject, "JSON Schema 2020-12 of the result; without it results are not checked."),
  timeoutMs: absentOr(timeoutField),
  summary: absentOr(
    textUpTo(500),
    "The call in one line for whoever approves it; {name} stands for an argument, [..] is left out without it.",
  ),
  ...traits,
});
/** One named thing a tool can do (an MCX capability). */
export type OperationManifest = Infer<typeof operationField>;

const OPERATION_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;
const operationsByName = mapOf(
  described(
    operationField,
    "One named thing the tool can do; what it says about itself goes before what the tool says.",
  ),
);
const operationsField = fieldOf<Record<string, OperationManifest>>(
  { ...operationsByName.schema, minProperties: 1, propertyNames: { pattern: OPERATION_NAME.source } },
  (value, path, issues): value is Record<string, OperationManifest> => {
    if (!operationsByName(value, path, issues)) return false;
    const names = Object.keys(value);
    const fits = names.length > 0 && names.every((name) => OPERATION_NAME.test(name));
    return fits || reject(issues, path, "must have at least one operation, each with a plain name");
  },
);

const limitsField = exactRecord({
  timeoutMs: absentOr(timeoutField),
  memoryBytes: absentOr(atLeast(), "Bytes of memory."),
  cpuMillicores: absentOr(atLeast(), "Share of processors, in thousandths of one."),
  cpuTimeMs: absentOr(atLeast(), "Milliseconds of processor time."),
  maxOutputBytes: absentOr(atLeast(), "Bytes of the result as JSON."),
  maxFileBytes: absentOr(atLeast(0), "Bytes of any one file it writes."),
  maxDiskBytes: absentOr(atLeast(0), "Bytes of all that a process writes, together."),
  maxOpenFiles: absentOr(atLeast(), "Files open at once."),
  maxProcesses: absentOr(atLeast(), "Processes at once."),
  maxConnections: absentOr(atLeast(0), "Network connections at once."),
  networkMbps: absentOr(atLeast(), "Network bandwidth in megabits a second."),
});
/** What one execution may use. */
export interface ResourceLimits extends Infer<typeof limitsField> {
  timeoutMs: number;
  memoryBytes: number;
}

const retryField = exactRecord({
  maxAttempts: described(attemptsField, "Attempts in all, the first one included."),
  baseDelayMs: described(atLeast(0), "Milliseconds before the first repetition; doubled each time."),
  maxDelayMs: described(atLeast(0), "Longest pause in milliseconds."),
  retryableErrors: absentOr(errorNamesField, "Only these are repeated; all that may be when left out."),
});
export type RetryPolicy = Infer<typeof retryField>;

const sourceField = exactRecord({
  type: described(oneOf(SOURCE_TYPES), "The kind of source."),
  metadata: absentOr(anyObject, "What the source needs to find the tool again."),
});

const transportField = exactRecord({
  type: described(textUpTo(64), "The transport, such as http."),
  baseUrl: absentOr(textUpTo(2_000), "Base address of the worker."),
  endpoint: absentOr(textUpTo(2_000), "Path of the endpoint below the base address."),
});

const circuitBreakerField = exactRecord({
  failureRateThreshold: absentOr(percentField),
  slidingWindowSize: absentOr(atLeast(), "How many recent calls are counted."),
  waitDurationMs: absentOr(atLeast(0), "Milliseconds before test calls are let through."),
});

export const manifestField = exactRecord({
  id: toolIdField,
  version: versionField,
  name: described(nameText, "Name for people."),
  description: described(textUpTo(2_000), "What the tool is for."),
  category: absentOr(oneOf(TOOL_CATEGORIES), "What the tool works on."),
  tags: absentOr(tagsField),
  source: absentOr(sourceField, "Where the tool comes from."),
  status: absentOr(oneOf(TOOL_STATUSES), "Only an active tool can be called."),
  securityLevel: absentOr(
    wholeNumber("a level", { minimum: 0, maximum: 10 }),
    "What is asked of the caller: 0 nothing, 10 the most.",
  ),
  operations: described(operationsField, "What the tool can do, by operation name."),
  ...traits,
  permissions: absentOr(permissionsField(accessModeField)),
  limits: absentOr(limitsField, "What one execution may use; left out fields keep their defaults."),
  kind: absentOr(
    oneOf(["function", "service_worker", "job_worker"]),
    "How the tool is run: in process, by a service, or by a job for each call.",
  ),
  transport: absentOr(transportField, "How a worker is reached."),
  egressAllowlist: absentOr(
    setOf(described(textUpTo(300), "host or host:port.")),
    "Where a worker may connect to.",
  ),
  retry: absentOr(retryField, "How the runtime repeats a failed execution of an idempotent tool."),
  circuitBreaker: absentOr(circuitBreakerField, "When calls are blocked after too many failures."),
  compatibilityRange: absentOr(textUpTo(256), "SemVer range of the callers' versions this one works with."),
  releaseNotes: absentOr(textUpTo(20_000), "What changed in this version."),
});

/** A manifest as an author writes it: only what has no sensible default must be there. */
export type ManifestDraft = Infer<typeof manifestField>;

/** What a tool may touch while it runs; nothing unless listed. */
export type Permissions = Required<NonNullable<ManifestDraft["permissions"]>>;

type Defaulted = keyof Traits | "category" | "tags" | "source" | "status" | "securityLevel" | "kind";

/** One immutable version of a tool, in the one form the engine knows. */
export interface ToolManifest
  extends Omit<ManifestDraft, Defaulted | "permissions" | "limits">,
    Required<Pick<ManifestDraft, Defaulted>> {
  permissions: Permissions;
  limits: ResourceLimits;
}

/** What a draft of the canonical manifest must look like; `completeManifest` makes a ToolManifest of it. */
export const MANIFEST_SCHEMA = publishedSchema(
  "tool-manifest",
  "Tool manifest",
  described(manifestField, "One version of a tool."),
);

/** The operation of a tool that declares only one input and one output schema (R1, L3). */
export const DEFAULT_OPERATION = "run";

/** In force for whatever a manifest does not limit itself. */
export const DEFAULT_LIMITS = {
  timeoutMs: 30_000,
  memoryBytes: 1024 * 1024 * 1024,
  cpuMillicores: 500,
} as const satisfies ResourceLimits;

/**
 * Fills in what the author left out. What a tool does not say about itself is assumed to be the worst:
 * side effects outside Sallyport, neither deterministic nor idempotent. Completing twice changes nothing.
 */
export function completeManifest(draft: ManifestDraft): ToolManifest {
  const sideEffects = draft.sideEffects ?? "external";
  return {
    category: "computation",
    tags: [],
    source: { type: "native" },
    status: "active",
    securityLevel: 0,
    kind: "function",
    requiredCapabilities: [],
    deterministic: false,
    idempotent: false,
    requiresApproval: false,
    risk: sideEffects === "none" ? "low" : "medium",
    ...draft,
    sideEffects,
    permissions: { filesystem: [], network: [], credentials: [], ...draft.permissions },
    limits: { ...DEFAULT_LIMITS, ...draft.limits },
  };
}
