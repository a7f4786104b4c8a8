import { badPatch, type Fault } from "./problem.ts";

/** The path after an `F`, bare or quoted, with nothing behind it. */
export function parsePath(written: string): string | Fault {
  if (written === "") return badPatch("missing file path after F");
  return written.startsWith('"') ? parseQuoted(written) : parseBare(written);
}

function parseBare(written: string): string | Fault {
  if (/[\s"]/u.test(written))
    return badPatch('text after the file path (a path with spaces or quotes is written in "…")');
  return written;
}

/** Only `\"` and `\\` are escapes. */
function parseQuoted(written: string): string | Fault {
  const end = closingQuote(written);
  if (end === -1) return badPatch("unterminated quoted path");
  const inner = written.slice(1, end);
  if (/\\[^"\\]/u.test(inner.replaceAll("\\\\", "")))
    return badPatch('invalid escape in quoted path (only \\" and \\\\)');
  if (end !== written.length - 1) return badPatch("text after the quoted path");
  if (inner === "") return badPatch("empty file path");
  return inner.replaceAll(/\\(["\\])/gu, "$1");
}

function closingQuote(written: string): number {
  for (let index = 1; index < written.length; index += 1) {
    if (written[index] === "\\") index += 1;
    else if (written[index] === '"') return index;
  }
  return -1;
}
