import type { Failure, Issue, JsonValue } from "@sallyport/protocol";

/**
 * What a schema says about a value. `invalid`: the value is wrong, at these places. `unusable`: nothing can be
 * said, because the work budget ran out (E3916) or the schema itself is bad (E3015); treat it as a refusal.
 */
export type Verdict =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly kind: "invalid";
      readonly issues: Issue[];
      /** Issues found beyond the listed ones; a lower bound once validation stopped counting. */
      readonly more: number;
    }
  | { readonly ok: false; readonly kind: "unusable"; readonly failure: Failure };

/** One compiled schema. */
export interface Validator {
  /** Never throws and never changes the value: no coercion, no defaults, no removal. */
  validate(value: JsonValue): Verdict;
}

export const VALID: Verdict = Object.freeze({ ok: true });

export function unusable(failed: Failure): Verdict {
  return { ok: false, kind: "unusable", failure: failed };
}
