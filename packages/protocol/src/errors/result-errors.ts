import { TOOL_FAILED } from "./families.ts";
import type { CatalogueEntry } from "./vocabulary.ts";

const BAD_RESULT = { ...TOOL_FAILED, ax: "INTERNAL" } as const;

/** E35xx: what a tool gave back. The caller gets no refused result; E3508 alone is a warning beside one. */
export const RESULT_ERRORS = {
  E3501: {
    ...BAD_RESULT,
    title: "Result does not match its schema",
    advice: "Correct the tool, or its output schema, at the places named in the issues.",
  },
  E3502: {
    ...BAD_RESULT,
    title: "Value could not be coerced to its type",
    advice: "Have the tool return the declared type at the places named in the issues.",
  },
  E3503: {
    ...BAD_RESULT,
    title: "Result refused: SQL injection pattern",
    mcx: "SecurityError",
    advice: "Look at the result in the tool's log; change the result profile if it is harmless.",
  },
  E3504: {
    ...BAD_RESULT,
    title: "Result refused: script injection pattern",
    mcx: "SecurityError",
    advice: "Have the tool escape markup; change the result profile if it is harmless.",
  },
  E3505: {
    ...BAD_RESULT,
    title: "Result refused: command injection pattern",
    mcx: "SecurityError",
    advice: "Look at the result in the tool's log; change the result profile if it is harmless.",
  },
  E3506: {
    ...BAD_RESULT,
    title: "Result lacks a required field",
    advice: "Have the tool return the fields named in the issues, or make them optional.",
  },
  E3507: {
    ...BAD_RESULT,
    title: "Result field has the wrong type",
    advice: "Have the tool return the declared type at the places named in the issues.",
  },
  E3508: {
    ...BAD_RESULT,
    title: "Tool declares no output schema",
    advice: "Add an output schema to the manifest; without one the result is not checked.",
  },
  E3509: {
    ...BAD_RESULT,
    title: "Result is larger than allowed",
    mcx: "ResourceError",
    srd: "LimitsExceeded",
    fixer: "model",
    advice: "Ask for a smaller part of the data, or raise the tool's output limit.",
  },
  E3510: {
    ...BAD_RESULT,
    title: "Result is not a JSON value",
    advice: "Have the tool return only JSON: no undefined, functions, dates, NaN or cycles.",
  },
} as const satisfies Record<string, CatalogueEntry>;
