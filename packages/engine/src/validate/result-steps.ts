import { type Failure, failure, type JsonValue, type Warning } from "@sallyport/protocol";
import type { Verdict } from "./verdict.ts";

/** What a step may look at besides the result itself. */
export interface ResultContext {
  maxOutputBytes: number;
  /** The declared schema's word on the result; undefined when the tool declares none. */
  validate: ((value: JsonValue) => Verdict) | undefined;
  warn(warning: Warning): void;
}

/** Where a result stands between two steps. */
export interface ResultDraft {
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
    const details = { bytes, maxOutputBytes };
    return {
      refused: failure("E3509", {
        message: `The result has ${bytes} bytes; ${maxOutputBytes} are allowed.`,
        details,
      }),
    };
  },
};

const schema: ResultStep = {
  name: "schema",
  apply(draft, { validate, warn }) {
    if (!validate) {
      warn({ code: "E3508", message: "The tool declares no result schema: the result was not checked." });
      return draft;
    }
    const verdict = validate(draft.value);
    if (verdict.ok) return draft;
    if (verdict.kind === "unusable") return { refused: verdict.failure };
    const { issues } = verdict;
    const places = issues.slice(0, 3).map(({ path, reason }) => `${path || "/"} ${reason}`);
    return {
      refused: failure("E3501", {
        message: `The result does not match its schema: ${places.join("; ")}`,
        issues,
      }),
    };
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
