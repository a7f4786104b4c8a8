import { DENIED, REPEATED, STATE_CONFLICT, TOOL_FAILED } from "./families.ts";
import type { CatalogueEntry } from "./vocabulary.ts";

/** E395x: batches of calls from a model, and the files their tools touch. */
export const TOOL_LOOP_ERRORS = {
  E3950: {
    ...REPEATED,
    title: "Tool call id occurs twice in a batch",
    fixer: "model",
    advice: "Give each tool call of a batch an id of its own.",
  },
  E3951: {
    ...TOOL_FAILED,
    title: "Patch could not be applied",
    srd: "PatchFailed",
    http: 422,
    fixer: "model",
    advice: "Read the file again and make a patch that fits its present content.",
  },
  E3952: {
    ...STATE_CONFLICT,
    title: "File was not read, or changed since it was read",
    srd: "StaleFile",
    fixer: "model",
    advice: "Read the file again before changing it.",
  },
  E3953: {
    ...DENIED,
    title: "Tool is on the denylist",
    srd: "Denylisted",
    advice: "Use another tool, or take this one off the denylist.",
  },
  E3954: {
    ...DENIED,
    title: "Tool execution is disabled",
    srd: "Disabled",
    advice: "Enable tool execution in the configuration if calls are meant to run.",
  },
  E3955: {
    ...DENIED,
    title: "Path is outside the sandbox",
    srd: "PathOutsideSandbox",
    fixer: "model",
    advice: "Use a path inside one of the allowed folders.",
  },
  E3956: {
    ...DENIED,
    title: "Path matches a denied pattern",
    srd: "DeniedPatternMatched",
    fixer: "model",
    advice: "Use another file: files of this pattern may not be touched.",
  },
  E3957: {
    ...DENIED,
    title: "Call is beyond a safety limit",
    srd: "LimitsExceeded",
    fixer: "model",
    advice: "Make fewer or smaller calls; the message names the limit.",
  },
  E3958: {
    ...STATE_CONFLICT,
    title: "Conversation is busy",
    srd: "ExecutionFailed",
    fixer: "caller",
    advice: "Wait for the turn that is under way, or cancel it.",
  },
  E3959: {
    ...TOOL_FAILED,
    title: "Language model could not answer",
    srd: "ExecutionFailed",
    http: 502,
    fixer: "operator",
    advice: "Check the model's name, its key and its address; what was said so far is kept.",
  },
} as const satisfies Record<string, CatalogueEntry>;
