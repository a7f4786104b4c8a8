import type { JsonSchema } from "@sallyport/protocol";
import { conjunctsOf, SchemaSide } from "./schema-conjuncts.ts";
import { Inclusion } from "./schema-inclusion.ts";

/** One thing that worked with the older schema and may not work with the newer one. */
export interface BreakingChange {
  /** Where, as the pointer of the schema that changed. */
  path: string;
  reason: string;
}

/**
 * What a newer schema breaks. An input schema must accept everything the older one did; an output schema must
 * promise everything the older one did. What cannot be proved compatible is reported: a doubt is a no.
 * Expects schemas that a compiler accepted; never throws for those and ends for recursive ones too.
 */
export function breakingChanges(
  older: JsonSchema,
  newer: JsonSchema,
  side: "input" | "output",
): BreakingChange[] {
  const [narrow, wide] = side === "input" ? [older, newer] : [newer, older];
  const inclusion = new Inclusion(side);
  const from = conjunctsOf(narrow, new SchemaSide(narrow));
  return inclusion.prove(from, { schema: wide, side: new SchemaSide(wide), path: "" });
}
