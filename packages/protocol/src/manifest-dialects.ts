import { isJsonObject } from "./json.ts";

export * from "./l3-manifest.ts";
export * from "./r1-declaration.ts";

/** The forms a manifest may be written in. */
export type ManifestDialect = "canonical" | "r1" | "l3";

const L3_TELLTALES = ["tool_id", "tool_name", "parameters_schema"];
const R1_TELLTALES = ["inputSchema", "outputSchema", "resourceLimits"];

/** Guesses which dialect a manifest means to be, so that its mistakes are reported in its own words. */
export function manifestDialect(value: unknown): ManifestDialect {
  if (!isJsonObject(value)) return "canonical";
  if (L3_TELLTALES.some((name) => Object.hasOwn(value, name))) return "l3";
  return R1_TELLTALES.some((name) => Object.hasOwn(value, name)) ? "r1" : "canonical";
}
