import { COMBINATOR_PROOFS } from "./combinator-proofs.ts";
import { CONTAINER_PROOFS } from "./container-proofs.ts";
import { SCALAR_PROOFS } from "./scalar-proofs.ts";
import type { BreakingChange } from "./schema-diff.ts";
import type { JsonType } from "./schema-facts.ts";
import type { Obligation } from "./schema-inclusion.ts";

/** How one keyword is shown to hold; an empty answer is the proof. */
export interface Proof {
  /** The keyword says something about values of these types only. */
  types?: readonly JsonType[];
  run(obligation: Obligation): BreakingChange[];
}

/** Keywords that are missing here are annotations, or are handled by taking schemas apart ($ref, allOf). */
export const PROOFS: ReadonlyMap<string, Proof> = new Map([
  ...Object.entries(SCALAR_PROOFS),
  ...Object.entries(CONTAINER_PROOFS),
  ...Object.entries(COMBINATOR_PROOFS),
]);
