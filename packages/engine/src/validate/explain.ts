import type { Issue } from "@sallyport/protocol";
import type { ErrorObject } from "ajv/dist/2020.js";
import { pointTo } from "./pointer.ts";
import { REASONS } from "./reasons.ts";
import type { Verdict } from "./verdict.ts";

const MAX_ISSUES = 100;

/** Turns the validator's errors into issues a caller can act on. Values are never repeated: they may be secret. */
export function explain(errors: readonly ErrorObject[]): Verdict {
  const issues = new Map<string, Issue>();
  for (const error of errors) {
    const issue = issueOf(error);
    if (issue) issues.set(`${issue.path}\n${issue.reason}`, issue);
  }
  const all = [...issues.values()];
  return {
    ok: false,
    kind: "invalid",
    issues: all.slice(0, MAX_ISSUES),
    more: Math.max(0, all.length - MAX_ISSUES),
  };
}

function issueOf(error: ErrorObject): Issue | undefined {
  // `if` only says that then or else failed, and the errors of those say why.
  if (error.keyword === "if") return undefined;
  const explained = REASONS[error.keyword]?.(error) ?? { reason: `does not satisfy "${error.keyword}"` };
  const at =
    error.propertyName === undefined ? error.instancePath : pointTo(error.instancePath, error.propertyName);
  return {
    path: explained.below === undefined ? at : pointTo(at, explained.below),
    reason: error.propertyName === undefined ? explained.reason : `has a name that ${explained.reason}`,
    ...(explained.suggestion !== undefined && { suggestion: explained.suggestion }),
  };
}
