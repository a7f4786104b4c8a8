import { type Failure, failure, type JsonValue, type Warning } from "@sallyport/protocol";
import { pointTo } from "../match/document.ts";
import type { ValidationResult } from "./compile.ts";

/** What a step may look at besides the result itself. */
interface ResultContext {
  maxOutputBytes: number;
  /** Checks the result against the declared schema; undefined when the tool declares none. */
  validate: ((value: JsonValue) => ValidationResult) | undefined;
  warn(warning: Warning): void;
}

/** A result between two steps. */
interface ResultDraft {
  value: JsonValue;
  /** The result as JSON, as it will be kept and sent. */
  text: string;
}

/** One check of a result. It passes the draft on, changed or not, or refuses the result: then the call rolls back. */
export interface ResultStep {
  name: string;
  apply(draft: ResultDraft, context: ResultContext): ResultDraft | { refused: Failure };
}

const size: ResultStep = {
  name: "size",
  apply(draft, { maxOutputBytes }) {
    const bytes = Buffer.byteLength(draft.text);
    if (bytes <= maxOutputBytes) return draft;
    const message = `The result has ${bytes} bytes; ${maxOutputBytes} are allowed.`;
    return { refused: failure("E3509", { message, details: { bytes, maxOutputBytes } }) };
  },
};

const schema: ResultStep = {
  name: "schema",
  apply(draft, { validate, warn }) {
    if (!validate) {
      warn({ code: "E3508", message: "The tool declares no result schema: the result was not checked." });
      return draft;
    }
    const checked = validate(draft.value);
    if (checked.ok) return draft;
    if (checked.kind === "unusable") return { refused: checked.failure };
    const { issues } = checked;
    const places = issues.slice(0, 3).map(({ path, reason }) => `${path || "/"} ${reason}`);
    const message = `The result does not match its schema: ${places.join("; ")}`;
    return { refused: failure("E3501", { message, issues }) };
  },
};

/** The checks in their order (R1-6.2): the result matches exactly as the tool returned it, nothing is coerced. */
export const STRICT_RESULT: readonly ResultStep[] = [size, schema];

/** Runs the steps in order; the first refusal ends it. */
export function checkSteps(
  steps: readonly ResultStep[],
  draft: ResultDraft,
  context: ResultContext,
): ResultDraft | { refused: Failure } {
  let current = draft;
  for (const step of steps) {
    const next = step.apply(current, context);
    if ("refused" in next) return next;
    current = next;
  }
  return current;
}

/**
 * Refuses a result that cannot be kept and sent as inputs can: nested deeper, or with `__proto__`, a lone surrogate or a
 * number such as 1e999, which a parser takes and JSON cannot write. No list of steps can leave it out, and it runs before
 * the result is written as text, because that recurses.
 */
export function unfitResult(result: JsonValue, maxDepth: number): Failure | undefined {
  const unfit = unfitPart(result, maxDepth);
  if (!unfit) return undefined;
  const { path, reason } = unfit;
  if (path === undefined)
    return failure("E3509", { message: `The result ${reason}.`, details: { maxDepth } });
  const message = `The result is not plain JSON: ${path || "/"} ${reason}.`;
  return failure("E3510", { message, issues: [{ path, reason }] });
}

/** What of a value cannot be kept and sent, and where; without a path it is how deep all of it is. */
export function unfitPart(
  whole: JsonValue,
  maxDepth: number,
): { path: string | undefined; reason: string } | undefined {
  if (isFit(whole, maxDepth)) return undefined;
  const open: { holder: object; at: string; depth: number }[] = [{ holder: [whole], at: "", depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { holder, at, depth } = next;
    for (const [key, value] of Object.entries(holder)) {
      const here = depth === 0 ? "" : pointTo(at, key.toWellFormed());
      if (key === "__proto__" || !key.isWellFormed())
        return { path: here, reason: "is a name that is not allowed" };
      if (typeof value === "string" && !value.isWellFormed())
        return { path: here, reason: "holds a lone surrogate" };
      if (typeof value === "number" && !Number.isFinite(value))
        return { path: here, reason: "is a number too large to be held" };
      if (typeof value !== "object" || value === null) continue;
      if (depth >= maxDepth) return { path: undefined, reason: `is nested deeper than ${maxDepth} levels` };
      open.push({ holder: value, at: here, depth: depth + 1 });
    }
  }
  return undefined;
}

function isFit(value: JsonValue, depth: number): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depth === 0) return false;
  for (const [name, member] of Object.entries(value)) {
    if (name === "__proto__" || !name.isWellFormed() || !isFit(member, depth - 1)) return false;
  }
  return true;
}
