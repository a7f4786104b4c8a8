import { isUtf8 } from "node:buffer";
import type { Fault, Lp1Reason } from "./problem.ts";

/** A text file as lines. An empty file has none; `"\n"` has one, which is empty. */
export interface FileLines {
  lines: string[];
  finalNewline: boolean;
  eol: "\n" | "\r\n";
}

/** Every line costs memory and time of its own, however short it is, and nothing else can happen meanwhile. */
export const MOST_FILE_LINES = 2_000_000;

const LINE_FEED = 0x0a;

/** Reads a file's bytes. A byte order mark stays part of the first line. */
export function readFileLines(content: Buffer): FileLines | Fault {
  if (hasTooManyLines(content)) {
    const text = `the file has more than ${MOST_FILE_LINES} lines, which are too many to patch`;
    return { reason: "too_much_work", text };
  }
  if (!isUtf8(content)) return { reason: "invalid_utf8", text: "invalid UTF-8 in file" };
  const text = content.toString("utf8");
  return newlineFault(text) ?? splitLines(text);
}

/** The bytes of the lines: what `readFileLines` read, when nothing changed. */
export function writeFileLines({ lines, finalNewline, eol }: FileLines): Buffer {
  return Buffer.from(lines.join(eol) + (finalNewline ? eol : ""), "utf8");
}

function hasTooManyLines(content: Buffer): boolean {
  if (content.length <= MOST_FILE_LINES) return false;
  let feeds = 0;
  for (const byte of content) if (byte === LINE_FEED && ++feeds > MOST_FILE_LINES) return true;
  return false;
}

function splitLines(text: string): FileLines {
  const eol = text.includes("\r") ? "\r\n" : "\n";
  if (text === "") return { lines: [], finalNewline: false, eol };
  const lines = text.split(eol);
  const finalNewline = lines.at(-1) === "";
  if (finalNewline) lines.pop();
  return { lines, finalNewline, eol };
}

function newlineFault(text: string): Fault | undefined {
  if (!text.includes("\r")) return undefined;
  const bareCr = text.search(/\r(?!\n)/);
  if (bareCr !== -1) return faultAt("bare_cr", { text, index: bareCr, what: "bare CR in file" });
  const bareLf = text.search(/(?<!\r)\n/);
  if (bareLf === -1) return undefined;
  return faultAt("mixed_eol", { text, index: bareLf, what: "mixed EOL in file: CRLF and LF, the first LF" });
}

function faultAt(
  reason: Lp1Reason,
  { text, index, what }: { text: string; index: number; what: string },
): Fault {
  const line = text.slice(0, index).split("\n").length;
  return { reason, text: `${what} at file line ${line}` };
}
