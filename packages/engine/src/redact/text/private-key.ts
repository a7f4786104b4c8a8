import { markerOf } from "../marker.ts";
import { type Cut, cutOut, type TextRule } from "./rule.ts";

const marker = markerOf("PRIVATE_KEY");
const LABEL = "[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}";
const END = `-{4,5} ?END ${LABEL}`;
/** Without an end the rest of the text is taken: a key cut off has no other border. */
const WHOLE = new RegExp(`-{4,5} ?BEGIN ${LABEL}[\\s\\S]*?(?:${END}|$)`, "g");
const ONLY_END = new RegExp(END, "g");

const SHORTEST_LINE = 16;

/** PEM blocks, on several lines or with escaped line ends, also when their beginning or their end is missing. */
export const privateKeys: TextRule = (text) => {
  if (!text.includes("PRIVATE KEY")) return text;
  const closed = text.replace(WHOLE, marker);
  return cutOut(closed, tails(closed));
};

/** The last lines of keys whose beginning was cut off. */
function* tails(text: string): Generator<Cut> {
  let from = 0;
  for (const { index, 0: end } of text.matchAll(ONLY_END)) {
    yield { start: linesBefore(text, index, from), end: index + end.length, marker };
    from = index + end.length;
  }
}

/** Where the run of Base64 lines that ends at `end` begins. The last line may be short. */
function linesBefore(text: string, end: number, from: number): number {
  let start = end;
  for (let shortest = 1; ; shortest = SHORTEST_LINE) {
    const lineEnd = lineBreakBefore(text, start, from);
    const lineStart = base64Before(text, lineEnd, from);
    if (lineEnd - lineStart < shortest) return start;
    start = lineStart;
    if (start === from) return start;
  }
}

function lineBreakBefore(text: string, end: number, from: number): number {
  let at = end;
  for (;;) {
    if (at > from && /\s/.test(text.charAt(at - 1))) at -= 1;
    else if (at - 1 > from && /\\[nr]/.test(text.slice(at - 2, at))) at -= 2;
    else return at;
  }
}

function base64Before(text: string, end: number, from: number): number {
  let at = end;
  while (at > from && /[A-Za-z0-9+/=]/.test(text.charAt(at - 1)) && text.charAt(at - 2) !== "\\") at -= 1;
  return at;
}
