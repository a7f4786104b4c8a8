import type { Hiding } from "../hiding.ts";
import { markerOf } from "../marker.ts";
import { BASE64_CHARS, changeRuns, charSet, nextRun, type RunShape } from "./long-run.ts";
import { type Cut, cutOut, type TextRule } from "./rule.ts";

const marker = markerOf("PRIVATE_KEY");
const LABEL = "[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}";
const BEGIN = `-{4,5} ?BEGIN ${LABEL}`;
const END = `-{4,5} ?END ${LABEL}`;

const SHORTEST_LINE = 16;
/** A label without this near it is spoken of, in code or in prose, and has no key. */
const CONTENT: RunShape = { set: charSet(BASE64_CHARS), shortest: 24 };
const NEAR = 300;

/** PEM blocks, on several lines or with escaped line ends, also when their beginning or their end is missing. */
export function privateKeys({ purpose }: Hiding): TextRule {
  const cut = purpose === "decision" ? withoutLines : cutOut;
  return (text) => (text.includes("PRIVATE KEY") ? cut(text, blocks(text)) : text);
}

const LINE: RunShape = { set: charSet(`${BASE64_CHARS}=`), shortest: SHORTEST_LINE };

/** Only the lines of the key go. What else stands between the labels of a block may be commands. */
function withoutLines(text: string, cuts: Iterable<Cut>): string {
  let done = 0;
  let kept = "";
  for (const { start, end } of cuts) {
    kept += text.slice(done, start) + changeRuns(text.slice(start, end), LINE, () => marker);
    done = end;
  }
  return kept + text.slice(done);
}

function* blocks(text: string): Generator<Cut> {
  const label = new RegExp(`${BEGIN}|${END}`, "g");
  let from = 0;
  for (let found = label.exec(text); found; found = label.exec(text)) {
    const isEnd = found[0].includes("END ");
    const after = found.index + found[0].length;
    const start = isEnd ? linesBefore(text, found.index, from) : found.index;
    if (isEnd ? start === found.index : nextRun(text.slice(after, after + NEAR), CONTENT) === -1) continue;
    const end = isEnd ? after : blockEnd(text, after);
    yield { start, end, marker };
    from = end;
    label.lastIndex = end;
  }
}

/** Without an end the rest of the text is taken: a key cut off has no other border. */
function blockEnd(text: string, from: number): number {
  const end = new RegExp(END, "g");
  end.lastIndex = from;
  return end.test(text) ? end.lastIndex : text.length;
}

/** Where the Base64 lines that end at `end` begin; `end` when there are none. The first and last may be short. */
function linesBefore(text: string, end: number, from: number): number {
  let start = end;
  let isKey = false;
  while (start > from) {
    const lineEnd = lineBreakBefore(text, start, from);
    const lineStart = base64Before(text, lineEnd, from);
    const length = lineEnd - lineStart;
    if (length === 0) break;
    if (length < SHORTEST_LINE && start !== end && isWord(text.slice(lineStart, lineEnd))) break;
    isKey ||= length >= SHORTEST_LINE;
    start = lineStart;
  }
  return isKey ? start : end;
}

function isWord(piece: string): boolean {
  return /^[A-Z]?[a-z]*$/.test(piece);
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
