import { sanitizeTerminal } from "@sallyport/loop";

const TAB = "    ";
/** What JSON leaves as it is and a terminal or a reader could be misled by. */
const HIDDEN = /[\p{Cf}\u007f-\u009f\u2028\u2029]/gu;

/** Text of a model, a tool or a file, as it may be shown. Line breaks stay, tabs become blanks. */
export function cleanText(text: string): string {
  return withoutTabs(sanitizeTerminal(text));
}

/** Blanks instead of tabs, whose width nobody knows beforehand. */
export function withoutTabs(text: string): string {
  return text.replaceAll("\t", TAB);
}

/** The same in one line. */
export function cleanLine(text: string): string {
  return cleanText(text).replaceAll(/\s*\n\s*/g, " ");
}

/** A copy in which every string, the names of fields too, may be shown. */
export function cleanDeep<T>(value: T): T;
export function cleanDeep(value: unknown): unknown {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) return value.map((item) => cleanDeep(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, held]) => [cleanText(name), cleanDeep(held)]));
}

/** JSON in which whatever cannot be seen is spelt out: it shows all there is, and reading it gives the same value. */
export function visibleJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? "null";
  return text.replace(HIDDEN, spelt);
}

function spelt(hidden: string): string {
  const units = Array.from({ length: hidden.length }, (_, at) => hidden.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
