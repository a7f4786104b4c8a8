import type { FieldKind } from "../field-name.ts";
import { isMarker, REDACTED } from "../marker.ts";
import { valueAt } from "./pair-value.ts";
import { isPlaceholder, isWordy } from "./placeholder.ts";
import type { Cut } from "./rule.ts";

/** A name in a text, and where its value may begin. */
export interface Named {
  name: string;
  kind: FieldKind;
  at: number;
  /** Whether prose and code write things like this too: `token: that`, `token = read`. */
  isLoose: boolean;
}

/** The value that the name announces, when it is a secret that is still there. */
export function secretAt(text: string, { name, kind, at, isLoose }: Named): Cut | undefined {
  if (kind === "ordinary") return undefined;
  const { start, end, isEnclosed } = valueAt(text, at, name);
  const value = text.slice(start, end);
  if (value === "" || isMarker(value) || isPlaceholder(value)) return undefined;
  if (kind === "secret_unless_number" && /^[\d.]+$/.test(value)) return undefined;
  if (isLoose && !isEnclosed && isMadeByMachines(name) && isWordy(value)) return undefined;
  return { start, end, marker: REDACTED };
}

/** People choose words for passwords; what these names stand for is made of more than words. */
function isMadeByMachines(name: string): boolean {
  return /(?:tokens?|keys?|ids?|jwts?|cookies?|credentials?|authori[sz]ation|pass)$/i.test(name);
}
