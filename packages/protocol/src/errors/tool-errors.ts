import {
  DENIED,
  EXHAUSTED,
  entry,
  type Family,
  INVALID,
  NOT_FOUND,
  STATE_CONFLICT,
  TIMED_OUT,
  TOOL_FAILED,
  UNAVAILABLE,
  VERSION_NOT_FOUND,
} from "./families.ts";

const UNFIT: Family = { ...INVALID, http: 422, fixer: "operator" };
const CLASHES: Family = { ...INVALID, http: 409, fixer: "operator" };

/** E30xx: finding, registering and retiring tools. */
export const REGISTRY_ERRORS = {
  E3001: entry(NOT_FOUND, "Tool not found", {
    advice: "Use the id of a registered tool; list the tools to see which there are.",
  }),
  E3002: entry(VERSION_NOT_FOUND, "Tool version not found", {
    advice: "Ask for a version of this tool that is registered, or leave the version out.",
  }),
  E3003: entry(VERSION_NOT_FOUND, "Tool version is deprecated", {
    advice: "Move to the version named in the deprecation notice before this one is removed.",
    http: 410,
  }),
  E3004: entry(VERSION_NOT_FOUND, "Tool version was removed", {
    advice: "Use a version that is still available; a removed one does not come back.",
    http: 410,
  }),
  E3005: entry(UNAVAILABLE, "Semantic search failed", {
    advice: "Check that the embedding service answers; until then search by name, tag or category.",
  }),
  E3006: entry(VERSION_NOT_FOUND, "No version fits the requested range", {
    advice: "Widen the version range, or register a version that lies within it.",
    http: 409,
  }),
  E3007: entry(CLASHES, "Tool version is already registered", {
    advice: "Give the tool another id, or raise its version.",
    srd: "DuplicateTool",
  }),
  E3008: entry(UNFIT, "Invalid tool manifest", {
    advice: "Correct each field named in the issues; the manifest schema says what is allowed.",
  }),
  E3009: entry(CLASHES, "Breaking change in a patch or minor release", {
    advice: "Raise the major version, or undo the schema changes named in the issues.",
  }),
  E3010: entry(NOT_FOUND, "Tool has no such operation", {
    advice: "Name one of the operations in the tool's manifest.",
  }),
  E3011: entry(CLASHES, "A registered version is immutable", {
    advice: "Raise the version: this id and version are already registered with other content.",
    srd: "DuplicateTool",
  }),
  E3012: entry(UNFIT, "Schema is below the required quality", {
    advice: "Add what each issue asks for, or lower the quality that registration demands.",
  }),
  E3013: entry(CLASHES, "Version may not be removed yet", {
    advice: "Deprecate it first and wait until its notice period is over.",
  }),
  E3014: entry(NOT_FOUND, "Tool is not active", {
    advice: "Set the tool's status to active, or use another tool meanwhile.",
    mcx: "ValidationError",
    srd: "Disabled",
    http: 409,
    fixer: "operator",
  }),
  E3015: entry(UNFIT, "Invalid JSON Schema", {
    advice: "Use JSON Schema 2020-12 with local references, safe patterns and a moderate size.",
  }),
};

const SANDBOX_FAILED = {
  kind: "sandbox_failure",
  jsonRpc: -32021,
  mcx: "SystemError",
  ax: "INTERNAL",
} as const;

/** E31xx: running a tool within its limits. */
export const EXECUTION_ERRORS = {
  E3101: entry(EXHAUSTED, "Sandbox could not be created", {
    advice: "Run `sallyport doctor`: it says what this host lacks for the required sandbox.",
    ...SANDBOX_FAILED,
    srd: "ExecutionFailed",
    fixer: "operator",
  }),
  E3102: entry(EXHAUSTED, "Resource limit exceeded", {
    advice: "Ask for less work in one call, or raise the limit named in the details.",
  }),
  E3103: entry(TIMED_OUT, "Timeout exceeded", {
    advice: "Ask for less work in one call, or allow the tool more time.",
  }),
  E3104: entry(DENIED, "Network policy violation", {
    advice: "Add the host to `permissions.network` of the tool's manifest if it is meant to be reached.",
  }),
  E3105: entry(DENIED, "Filesystem policy violation", {
    advice:
      "Keep to the folders in `permissions.filesystem` of the tool's manifest, or add the path there if it is meant to be used.",
    srd: "PathOutsideSandbox",
  }),
  E3106: entry(EXHAUSTED, "Too many tools running for this agent", {
    advice: "Wait for a running call of this agent to end, then call again.",
    http: 429,
  }),
  E3107: entry(TOOL_FAILED, "Sandbox crashed", {
    advice: "Look at the sandbox's own log for this execution before calling again.",
    ...SANDBOX_FAILED,
  }),
  E3108: entry(TOOL_FAILED, "Tool process ended with an error", {
    advice: "Read the exit code and the error output, and change the input accordingly.",
    fixer: "model",
  }),
  E3109: entry(DENIED, "Tool tried to leave its sandbox", {
    advice: "Read the recorded violations, then correct or remove the tool.",
  }),
  E3110: entry(STATE_CONFLICT, "Files were changed by someone else meanwhile", {
    advice: "Nothing was committed. Look at the paths in the details, then call again.",
    srd: "StaleFile",
  }),
  E3111: entry(STATE_CONFLICT, "Call cannot be undone", {
    advice: "Read the details: files that changed since the call are not touched.",
    srd: "StaleFile",
    fixer: "operator",
  }),
};

const BAD_RESULT: Family = { ...TOOL_FAILED, ax: "INTERNAL" };

/** E35xx: what a tool gave back. The caller gets no refused result; E3508 and E3511 are warnings beside one. */
export const RESULT_ERRORS = {
  E3501: entry(BAD_RESULT, "Result does not match its schema", {
    advice: "Correct the tool, or its output schema, at the places named in the issues.",
  }),
  E3502: entry(BAD_RESULT, "Value could not be coerced to its type", {
    advice: "Have the tool return the declared type at the places named in the issues.",
  }),
  E3503: entry(BAD_RESULT, "Result refused: SQL injection pattern", {
    advice: "Look at the result in the tool's log; change the result profile if it is harmless.",
    mcx: "SecurityError",
  }),
  E3504: entry(BAD_RESULT, "Result refused: script injection pattern", {
    advice: "Have the tool escape markup; change the result profile if it is harmless.",
    mcx: "SecurityError",
  }),
  E3505: entry(BAD_RESULT, "Result refused: command injection pattern", {
    advice: "Look at the result in the tool's log; change the result profile if it is harmless.",
    mcx: "SecurityError",
  }),
  E3506: entry(BAD_RESULT, "Result lacks a required field", {
    advice: "Have the tool return the fields named in the issues, or make them optional.",
  }),
  E3507: entry(BAD_RESULT, "Result field has the wrong type", {
    advice: "Have the tool return the declared type at the places named in the issues.",
  }),
  E3508: entry(BAD_RESULT, "Tool declares no output schema", {
    advice: "Add an output schema to the manifest; without one the result is not checked.",
  }),
  E3509: entry(BAD_RESULT, "Result is larger or nested deeper than allowed", {
    advice: "Ask for a smaller part of the data, or raise the tool's output limit.",
    mcx: "ResourceError",
    srd: "LimitsExceeded",
    fixer: "model",
  }),
  E3510: entry(BAD_RESULT, "Result is not a JSON value", {
    advice:
      "Have the tool return only JSON: no undefined, functions, dates, NaN, cycles, lone surrogates or __proto__.",
  }),
  E3511: entry(BAD_RESULT, "A deterministic tool gave another result for the same input and state", {
    advice:
      "Remove what makes the result differ, or declare `deterministic: false` in the tool's next version.",
  }),
};
