import type { LoadedConfig } from "../config/load.ts";
import { referencesIn } from "../config/secret-schema.ts";

/** Settings by variable can hold what is nobody else's business, such as a header or a password in an address. */
const OWN_SETTINGS = "SALLYPORT__*";

/**
 * The environment variables that belong to Sallyport alone: every one that the configuration says a secret is in,
 * wherever it says so, and its own settings. No command may inherit them (FR-EXE-06, CFG-ENV-01).
 */
export function secretVariables({ place: _place, ...settings }: LoadedConfig): string[] {
  return [OWN_SETTINGS, ...new Set(referencesIn(settings, "env"))];
}
