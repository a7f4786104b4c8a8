import {
  badPatch,
  type EdgeOperation,
  type Fault,
  isLp1Problem,
  type Lp1Operation,
  type Lp1Patch,
  type Lp1Problem,
  type Lp1Section,
  type MatchOperation,
  problemAt,
} from "./patch.ts";
import { excerpt } from "./search.ts";

/** The rows of a patch, read one after the other. A row's newline, LF or CRLF, is no part of it. */
class PatchRows {
  readonly #rows: readonly string[];
  #taken = 0;

  constructor(rows: readonly string[]) {
    this.#rows = rows;
  }

  /** The 1-based line of the row taken last; 1 before the first, so that an empty patch has a line to blame. */
  get line(): number {
    return Math.max(1, this.#taken);
  }

  /** The next row, or undefined at the end. */
  take(): string | undefined {
    const row = this.#rows[this.#taken];
    if (row !== undefined) this.#taken += 1;
    return row;
  }

  /** The next row that is neither blank nor a comment, without the spaces and tabs around it. */
  takeCommand(): string | undefined {
    for (let row = this.take(); row !== undefined; row = this.take()) {
      const command = trimmed(row);
      if (command !== "" && !command.startsWith("#")) return command;
    }
    return undefined;
  }
}

/** Splits a patch into rows, or says where it holds what no row may hold. */
function patchRows(text: string): PatchRows | Lp1Problem {
  const rows = text.replaceAll("\r\n", "\n").split("\n");
  if (rows.at(-1) === "") rows.pop();
  const bad = text.includes("\r") || !text.isWellFormed() ? rows.findIndex(isBadRow) : -1;
  if (bad === -1) return new PatchRows(rows);
  const what = rows[bad]?.includes("\r") ? "a CR without LF" : "half a surrogate pair";
  return problemAt(bad + 1, badPatch(`${what} in the patch`));
}

function isBadRow(row: string): boolean {
  return row.includes("\r") || !row.isWellFormed();
}

const isSpace = (char: string | undefined) => char === " " || char === "\t";

/** Without the spaces and tabs around it; other white space stays. A loop, since a pattern could take quadratic time. */
function trimmed(row: string): string {
  let from = 0;
  let to = row.length;
  while (from < to && isSpace(row[from])) from += 1;
  while (to > from && isSpace(row[to - 1])) to -= 1;
  return row.slice(from, to);
}

const TERMINATOR = /^\.[ \t]*$/;

/** The rows up to a lone dot, un-stuffed. Whether a row ends the block is looked at before its dots are. */
function parseBlock(rows: PatchRows): string[] | Lp1Problem {
  const begins = rows.line;
  const block: string[] = [];
  for (let row = rows.take(); row !== undefined; row = rows.take()) {
    if (TERMINATOR.test(row)) return block;
    if (!row.startsWith(".")) block.push(row);
    else if (row.startsWith("..")) block.push(row.slice(1));
    else
      return problemAt(
        rows.line,
        badPatch("dot-stuffed line must start with '..' (a lone '.' ends the block)"),
      );
  }
  return problemAt(begins, badPatch("unterminated block: no line with a lone '.' after this line"));
}

const MATCH: Readonly<Record<string, MatchOperation["kind"]>> = {
  R: "replace",
  I: "insert_after",
  P: "insert_before",
  E: "erase",
};
const EDGE: Readonly<Record<string, EdgeOperation["kind"]>> = { T: "append", B: "prepend" };

/** A command's letter and what stands after it; undefined when no white space divides them. */
function splitCommand(command: string): { letter: string; rest: string } | undefined {
  const letter = command.slice(0, 1);
  const divided = command.length === 1 || command[1] === " " || command[1] === "\t";
  return divided ? { letter, rest: trimmed(command.slice(1)) } : undefined;
}

/** Reads the operation whose command was just taken, with its blocks. */
function parseOperation(command: string, rows: PatchRows): Lp1Operation | Lp1Problem {
  const { letter, rest } = splitCommand(command) ?? { letter: "", rest: "" };
  const match = Object.hasOwn(MATCH, letter) ? MATCH[letter] : undefined;
  if (match !== undefined) return parseMatch(match, rest, rows);
  const edge = Object.hasOwn(EDGE, letter) ? EDGE[letter] : undefined;
  if (edge !== undefined) return parseEdge(edge, rest, rows);
  if (letter === "N") return parseFinalNewline(rest, rows.line);
  return problemAt(rows.line, badPatch(`unknown operation '${excerpt(command)}'${hint(command)}`));
}

function hint(command: string): string {
  return /^[FRIPETBN]/u.test(command) ? `: white space must follow '${command.slice(0, 1)}'` : "";
}

function parseMatch(
  kind: MatchOperation["kind"],
  rest: string,
  rows: PatchRows,
): MatchOperation | Lp1Problem {
  const line = rows.line;
  const occurrence = rest === "" ? undefined : parseOccurrence(rest);
  if (typeof occurrence === "object") return problemAt(line, occurrence);
  const find = parseBlock(rows);
  if (!Array.isArray(find)) return find;
  const lines = kind === "erase" ? [] : parseBlock(rows);
  return Array.isArray(lines) ? { kind, line, occurrence, find, lines } : lines;
}

function parseOccurrence(written: string): number | Fault {
  if (written === "0") return badPatch("occurrence must be at least 1");
  if (!/^[1-9][0-9]*$/.test(written))
    return badPatch(
      `invalid occurrence '${excerpt(written)}': a number from 1, without sign or leading zero`,
    );
  return Math.min(Number(written), Number.MAX_SAFE_INTEGER);
}

function parseEdge(kind: EdgeOperation["kind"], rest: string, rows: PatchRows): EdgeOperation | Lp1Problem {
  const line = rows.line;
  if (rest !== "") return problemAt(line, badPatch(`text after T or B: '${excerpt(rest)}'`));
  const lines = parseBlock(rows);
  return Array.isArray(lines) ? { kind, line, lines } : lines;
}

function parseFinalNewline(flag: string, line: number): Lp1Operation | Lp1Problem {
  if (flag === "+" || flag === "-") return { kind: "final_newline", line, present: flag === "+" };
  return problemAt(line, badPatch("invalid N flag: write 'N +' or 'N -'"));
}

/** Reads a patch. Never throws; the first fault is returned with its line. How long the text is, is the caller's to limit. */
export function parsePatch(text: string): Lp1Patch | Lp1Problem {
  const rows = patchRows(text);
  if (!(rows instanceof PatchRows)) return rows;
  const header = rows.takeCommand();
  if (header === undefined)
    return problemAt(rows.line, badPatch("missing header: the patch begins with LP1"));
  if (header !== "LP1")
    return problemAt(rows.line, badPatch(`invalid header '${excerpt(header)}': the patch begins with LP1`));
  const sections = parseSections(rows);
  if (!Array.isArray(sections)) return sections;
  return checkEnd(rows) ?? { kind: "lp1_patch", sections };
}

function parseSections(rows: PatchRows): Lp1Section[] | Lp1Problem {
  const sections: Lp1Section[] = [];
  for (let command = rows.takeCommand(); command !== undefined; command = rows.takeCommand()) {
    if (command === "END") return sections;
    const problem = addCommand(sections, command, rows);
    if (problem !== undefined) return problem;
  }
  return problemAt(rows.line, badPatch("missing END footer"));
}

/** Begins a section or adds an operation to the last one. */
function addCommand(sections: Lp1Section[], command: string, rows: PatchRows): Lp1Problem | undefined {
  const { letter, rest } = splitCommand(command) ?? { letter: "", rest: "" };
  if (letter === "F") return addSection(sections, rest, rows.line);
  const section = sections.at(-1);
  if (section === undefined)
    return problemAt(rows.line, badPatch(`expected file section 'F <path>', not '${excerpt(command)}'`));
  const operation = parseOperation(command, rows);
  if (isLp1Problem(operation)) return { ...operation, path: section.path };
  section.operations.push(operation);
  return undefined;
}

function addSection(sections: Lp1Section[], written: string, line: number): Lp1Problem | undefined {
  const path = parsePath(written);
  if (typeof path !== "string") return problemAt(line, path);
  sections.push({ path, line, operations: [] });
  return undefined;
}

function checkEnd(rows: PatchRows): Lp1Problem | undefined {
  const more = rows.takeCommand();
  return more === undefined
    ? undefined
    : problemAt(rows.line, badPatch(`text after END: '${excerpt(more)}'`));
}

/** The path after an `F`, bare or quoted, with nothing behind it. */
function parsePath(written: string): string | Fault {
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
