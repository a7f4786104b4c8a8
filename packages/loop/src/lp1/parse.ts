import type {
  EdgeOperation,
  Lp1Operation,
  Lp1Patch,
  Lp1Problem,
  Lp1Section,
  MatchOperation,
} from "./patch.ts";
import { excerpt, problemAt } from "./search.ts";

/** Reads a patch. Never throws; the first fault is returned with its line. How long the text is, is the caller's to limit. */
export function parsePatch(text: string): Lp1Patch | Lp1Problem {
  return new PatchReader(text).read();
}

const MATCH = new Map<string, MatchOperation["kind"]>([
  ["R", "replace"],
  ["I", "insert_after"],
  ["P", "insert_before"],
  ["E", "erase"],
]);
const EDGE = new Map<string, EdgeOperation["kind"]>([
  ["T", "append"],
  ["B", "prepend"],
]);

/** How patches begin that models know from elsewhere. */
const OTHER_FORMATS = /^(?:\*\*\* |--- |\+\+\+ |diff |Index: |@@)/;
const FORM =
  "and then has, each on a line of its own: F path, R, the lines to find, a dot, the new lines, a dot, END";

const TERMINATOR = /^\.[ \t]*$/;

/**
 * Takes the rows of a patch one after the other. A row's newline, LF or CRLF, is no part of it. What cannot be read is
 * undefined, after its problem was noted; the first problem ends the reading.
 */
class PatchReader {
  readonly #rows: readonly string[];
  readonly #sections: Lp1Section[] = [];
  #taken = 0;
  #problem: Lp1Problem | undefined;

  constructor(text: string) {
    const rows = text.replaceAll("\r\n", "\n").split("\n");
    if (rows.at(-1) === "") rows.pop();
    this.#rows = rows;
  }

  read(): Lp1Patch | Lp1Problem {
    if (this.#checkRows() && this.#readHeader() && this.#readSections()) {
      const more = this.#command();
      if (more !== undefined) this.#fail(`text after END: '${excerpt(more)}'`);
    }
    return this.#problem ?? { kind: "lp1_patch", sections: this.#sections };
  }

  #fail(text: string, line = this.#line): undefined {
    this.#problem = problemAt(line, { reason: "bad_patch", text });
  }

  /** The 1-based line of the row taken last; 1 before the first, so that an empty patch has a line to blame. */
  get #line(): number {
    return Math.max(1, this.#taken);
  }

  /** The next row, or undefined at the end. */
  #row(): string | undefined {
    const row = this.#rows[this.#taken];
    if (row !== undefined) this.#taken += 1;
    return row;
  }

  /** The next row that is neither blank nor a comment, without the spaces and tabs around it. */
  #command(): string | undefined {
    for (let row = this.#row(); row !== undefined; row = this.#row()) {
      const command = trimmed(row);
      if (command !== "" && !command.startsWith("#")) return command;
    }
    return undefined;
  }

  /** Whether every row holds only what a row may hold. */
  #checkRows(): boolean {
    const bad = this.#rows.findIndex((row) => row.includes("\r") || !row.isWellFormed());
    const what = this.#rows[bad]?.includes("\r") ? "a CR without LF" : "half a surrogate pair";
    if (bad !== -1) this.#fail(`${what} in the patch`, bad + 1);
    return bad === -1;
  }

  #readHeader(): boolean {
    const header = this.#command();
    const fault = header === undefined ? "missing header" : `invalid header '${excerpt(header)}'`;
    const form = header !== undefined && OTHER_FORMATS.test(header) ? ` ${FORM}` : "";
    if (header !== "LP1") this.#fail(`${fault}: the patch begins with LP1${form}`);
    return header === "LP1";
  }

  #readSections(): boolean {
    for (let command = this.#command(); command !== undefined; command = this.#command()) {
      if (command === "END") return true;
      this.#readCommand(command);
      if (this.#problem) return false;
    }
    this.#fail("missing END footer");
    return false;
  }

  /** Begins a section or adds an operation to the last one. */
  #readCommand(command: string): void {
    const { letter, rest } = splitCommand(command);
    const section = this.#sections.at(-1);
    if (letter === "F") {
      const path = readPath(rest);
      if (typeof path === "string") this.#sections.push({ path, line: this.#line, operations: [] });
      else this.#fail(path.text);
    } else if (!section) this.#fail(`expected file section 'F <path>', not '${excerpt(command)}'`);
    else {
      const operation = this.#operation(command);
      if (operation) section.operations.push(operation);
      else if (this.#problem) this.#problem.path = section.path;
    }
  }

  /** Reads the operation whose command was just taken, with its blocks. */
  #operation(command: string): Lp1Operation | undefined {
    const { letter, rest } = splitCommand(command);
    const line = this.#line;
    const match = MATCH.get(letter);
    if (match) return this.#match(match, rest);
    const edge = EDGE.get(letter);
    if (edge) {
      if (rest !== "") return this.#fail(`text after T or B: '${excerpt(rest)}'`);
      const lines = this.#block();
      return lines && { kind: edge, line, lines };
    }
    if (letter === "N") {
      if (rest === "+" || rest === "-") return { kind: "final_newline", line, present: rest === "+" };
      return this.#fail("invalid N flag: write 'N +' or 'N -'");
    }
    const hint = /^[FRIPETBN]/u.test(command) ? `: white space must follow '${command.slice(0, 1)}'` : "";
    return this.#fail(`unknown operation '${excerpt(command)}'${hint}`);
  }

  #match(kind: MatchOperation["kind"], written: string): MatchOperation | undefined {
    const line = this.#line;
    if (written === "0") return this.#fail("occurrence must be at least 1");
    if (!/^([1-9][0-9]*)?$/.test(written)) {
      const rule = "a number from 1, without sign or leading zero";
      return this.#fail(`invalid occurrence '${excerpt(written)}': ${rule}`);
    }
    const occurrence = written === "" ? undefined : Math.min(Number(written), Number.MAX_SAFE_INTEGER);
    const find = this.#block();
    const lines = kind === "erase" ? [] : find && this.#block();
    return find && lines && { kind, line, occurrence, find, lines };
  }

  /** The rows up to a lone dot, un-stuffed. Whether a row ends the block is looked at before its dots are. */
  #block(): string[] | undefined {
    const begins = this.#line;
    const block: string[] = [];
    for (let row = this.#row(); row !== undefined; row = this.#row()) {
      if (TERMINATOR.test(row)) return block;
      if (row.startsWith(".") && !row.startsWith(".."))
        return this.#fail("dot-stuffed line must start with '..' (a lone '.' ends the block)");
      block.push(row.startsWith(".") ? row.slice(1) : row);
    }
    return this.#fail("unterminated block: no line with a lone '.' after this line", begins);
  }
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

/** A command's letter and what stands after it; no letter when no white space divides them. */
function splitCommand(command: string): { letter: string; rest: string } {
  const divided = command.length === 1 || isSpace(command[1]);
  return divided
    ? { letter: command.slice(0, 1), rest: trimmed(command.slice(1)) }
    : { letter: "", rest: "" };
}

/** The path after an `F`, bare or quoted, with nothing behind it. In quotes only `\"` and `\\` are escapes. */
function readPath(written: string): string | { text: string } {
  if (written === "") return { text: "missing file path after F" };
  if (!written.startsWith('"')) {
    if (!/[\s"]/u.test(written)) return written;
    return { text: 'text after the file path (a path with spaces or quotes is written in "…")' };
  }
  const end = closingQuote(written);
  if (end === -1) return { text: "unterminated quoted path" };
  const inner = written.slice(1, end);
  if (/\\[^"\\]/u.test(inner.replaceAll("\\\\", "")))
    return { text: 'invalid escape in quoted path (only \\" and \\\\)' };
  if (end !== written.length - 1) return { text: "text after the quoted path" };
  return inner === "" ? { text: "empty file path" } : inner.replaceAll(/\\(["\\])/gu, "$1");
}

function closingQuote(written: string): number {
  for (let index = 1; index < written.length; index += 1) {
    if (written[index] === "\\") index += 1;
    else if (written[index] === '"') return index;
  }
  return -1;
}
