import { DENIED, EXHAUSTED, STATE_CONFLICT, TIMED_OUT, TOOL_FAILED } from "./families.ts";
import type { CatalogueEntry } from "./vocabulary.ts";

const SANDBOX_FAILED = {
  kind: "sandbox_failure",
  jsonRpc: -32021,
  mcx: "SystemError",
  ax: "INTERNAL",
} as const;

/** E31xx: running a tool within its limits. */
export const EXECUTION_ERRORS = {
  E3101: {
    ...EXHAUSTED,
    ...SANDBOX_FAILED,
    title: "Sandbox could not be created",
    srd: "ExecutionFailed",
    fixer: "operator",
    advice: "Check that this host can make the demanded sandbox and has room for one more.",
  },
  E3102: {
    ...EXHAUSTED,
    title: "Resource limit exceeded",
    advice: "Ask for less work in one call, or raise the limit named in the details.",
  },
  E3103: {
    ...TIMED_OUT,
    title: "Timeout exceeded",
    advice: "Ask for less work in one call, or allow the tool more time.",
  },
  E3104: {
    ...DENIED,
    title: "Network policy violation",
    advice: "Add the host to the tool's network permissions if it is meant to be reached.",
  },
  E3105: {
    ...DENIED,
    title: "Filesystem policy violation",
    srd: "PathOutsideSandbox",
    advice: "Add the path to the tool's filesystem permissions if it is meant to be used.",
  },
  E3106: {
    ...EXHAUSTED,
    title: "Too many tools running for this agent",
    http: 429,
    advice: "Wait for a running call of this agent to end, then call again.",
  },
  E3107: {
    ...TOOL_FAILED,
    ...SANDBOX_FAILED,
    title: "Sandbox crashed",
    advice: "Look at the sandbox's own log for this execution before calling again.",
  },
  E3108: {
    ...TOOL_FAILED,
    title: "Tool process ended with an error",
    fixer: "model",
    advice: "Read the exit code and error output in the details and change the input accordingly.",
  },
  E3109: {
    ...DENIED,
    title: "Tool tried to leave its sandbox",
    advice: "Look at the violations on record before the tool is used again; correct or remove it.",
  },
  E3110: {
    ...STATE_CONFLICT,
    title: "Files were changed by someone else meanwhile",
    srd: "StaleFile",
    advice: "Nothing was committed. Look at the paths in the details, then call again.",
  },
  E3111: {
    ...STATE_CONFLICT,
    title: "Call cannot be undone",
    srd: "StaleFile",
    fixer: "operator",
    advice: "Read in the details what stands in the way; files that changed since are left alone.",
  },
} as const satisfies Record<string, CatalogueEntry>;
