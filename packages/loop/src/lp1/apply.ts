import { isUtf8 } from "node:buffer";
import {
  isMatchOperation,
  type Lp1Operation,
  type Lp1Patch,
  type Lp1Problem,
  type Lp1Section,
  type MatchOperation,
} from "./patch.ts";
import { type Fault, locate, matchFault, problemAt, tooMuchWork } from "./search.ts";

/** How the caller's files are known here. */
export interface PatchFiles {
  /** The one name of a file, however its path is written. Sections with the same key go on where the last one ended. */
  keyOf(path: string): string;
  /** Its bytes before the patch, or undefined when it does not exist. Asked once for each key. */
  read(key: string): Buffer | undefined;
}

/** What the patch makes of one file. `path` is as its first section wrote it. */
export type PatchedFile =
  | { kind: "created" | "modified"; key: string; path: string; content: Buffer }
  | { kind: "unchanged"; key: string; path: string };

/** All files that the patch names, in the order in which it first names them. */
export interface AppliedPatch {
  kind: "applied";
  files: PatchedFile[];
}

/**
 * About a second. A patch of ordinary size on an ordinary file takes a thousandth of it; only many operations that each
 * search a long file come near.
 */
const MOST_STEPS = 200_000_000;
/** Moving lines to make room is this many times cheaper than comparing them. */
const MOVES_PER_STEP = 8;
/** Every line costs memory and time of its own, however short it is, and nothing else can happen meanwhile. */
const MOST_FILE_LINES = 2_000_000;
/** More arguments than this overflow the stack. */
const MOST_ARGUMENTS = 10_000;
const LINE_FEED = 0x0a;

const MISSING_FILE: Fault = {
  reason: "missing_file",
  text: "file does not exist for match-based operation; only T, B and N create a file",
};

/** What one patch may cost, counted in lines looked at, so that the end of it does not depend on the machine. */
class Work {
  #left = MOST_STEPS;

  /** False when the patch has used up what it may cost, and must end. */
  spend(steps: number): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }
}

/** Runs a whole patch without writing anything. The first problem in any section ends it, and then nothing has changed. */
export function applyPatch(patch: Lp1Patch, files: PatchFiles): AppliedPatch | Lp1Problem {
  const work = new Work();
  const opened = new Map<string, { path: string; before: Buffer | undefined; file: OpenFile }>();
  for (const section of patch.sections) {
    const key = files.keyOf(section.path);
    let entry = opened.get(key);
    if (!entry) {
      const before = files.read(key);
      const file = openFile(before);
      if (!(file instanceof OpenFile)) return { ...problemAt(section.line, file), path: section.path };
      entry = { path: section.path, before, file };
      opened.set(key, entry);
    }
    const problem = entry.file.run(section, work);
    if (problem) return { ...problem, path: section.path };
  }
  return {
    kind: "applied",
    files: Array.from(opened, ([key, { path, before, file }]) => {
      const content = file.content();
      // A file that did not exist and would be empty stays unmade.
      const isSame = before === undefined ? content.length === 0 : before.equals(content);
      if (isSame) return { kind: "unchanged", key, path };
      return { kind: before === undefined ? "created" : "modified", key, path, content };
    }),
  };
}

/** A text file as lines. An empty file has none; `"\n"` has one, which is empty. */
export interface FileLines {
  lines: string[];
  finalNewline: boolean;
  eol: "\n" | "\r\n";
}

const EMPTY_LINE = 0;

/** Gives every different line a number: lines are compared hundreds of times, their texts once. */
class LineTable {
  readonly #numbers = new Map<string, number>([["", EMPTY_LINE]]);
  readonly #texts: string[] = [""];

  numbersOf(lines: readonly string[]): number[] {
    return lines.map((line) => {
      const known = this.#numbers.get(line);
      if (known !== undefined) return known;
      this.#numbers.set(line, this.#texts.length);
      return this.#texts.push(line) - 1;
    });
  }

  textsOf(numbers: readonly number[]): string[] {
    return numbers.map((number) => this.#texts[number] ?? "");
  }
}

/** A file while operations run on it. */
class OpenFile {
  readonly #table = new LineTable();
  #lines: number[];
  #finalNewline: boolean;
  #eol: FileLines["eol"];
  #isAbsent: boolean;

  /** Undefined is a file that does not exist. */
  constructor(file: FileLines | undefined) {
    this.#lines = this.#table.numbersOf(file?.lines ?? []);
    this.#finalNewline = file?.finalNewline ?? false;
    this.#eol = file?.eol ?? "\n";
    this.#isAbsent = file === undefined;
  }

  /** Runs one section's operations in order; after a problem the file is of no further use. */
  run({ operations }: Pick<Lp1Section, "operations">, work: Work): Lp1Problem | undefined {
    const missing = this.#isAbsent ? operations.find(isMatchOperation) : undefined;
    if (missing !== undefined) return problemAt(missing.line, MISSING_FILE);
    for (const operation of operations) {
      const fault = this.#runOne(operation, work);
      if (fault !== undefined) return problemAt(operation.line, fault);
    }
    this.#endSection();
    return undefined;
  }

  content(): Buffer {
    const lines = this.#table.textsOf(this.#lines);
    const text = joinLines({ lines, finalNewline: this.#finalNewline, eol: this.#eol });
    return Buffer.from(text, "utf8");
  }

  #runOne(operation: Lp1Operation, work: Work): Fault | undefined {
    if (isMatchOperation(operation)) return this.#match(operation, work);
    if (operation.kind === "final_newline") {
      this.#setFinalNewline(operation.present);
      return undefined;
    }
    const at = operation.kind === "append" ? this.#lines.length : 0;
    return this.#replace({ at, count: 0, lines: operation.lines }, work);
  }

  #match(operation: MatchOperation, work: Work): Fault | undefined {
    const { kind, occurrence, lines } = operation;
    if (operation.find.length === 0) return this.#atGap(operation, work);
    const find = this.#table.numbersOf(operation.find);
    const found = locate(this.#lines, { find, occurrence }, work);
    if (found.kind !== "found") return matchFault(found, this.#table.textsOf(this.#lines), operation.find);
    if (kind === "insert_after") return this.#replace({ at: found.at + find.length, count: 0, lines }, work);
    return this.#replace({ at: found.at, count: kind === "insert_before" ? 0 : find.length, lines }, work);
  }

  /** A find-block without lines means the gap before the line that the occurrence names. */
  #atGap({ occurrence, lines }: MatchOperation, work: Work): Fault | undefined {
    const size = this.#lines.length;
    if (occurrence === undefined)
      return {
        reason: "empty_match",
        text: "empty match requires occurrence: the line before which the gap is",
      };
    if (occurrence > size + 1) {
      const text = `occurrence out of range: the file has ${size} lines, so ${size + 1} gaps`;
      return { reason: "occurrence_out_of_range", text };
    }
    return this.#replace({ at: occurrence - 1, count: 0, lines }, work);
  }

  #replace(
    { at, count, lines }: { at: number; count: number; lines: readonly string[] },
    work: Work,
  ): Fault | undefined {
    if (!work.spend((this.#lines.length - at) / MOVES_PER_STEP)) return tooMuchWork();
    const numbers = this.#table.numbersOf(lines);
    if (lines.length <= MOST_ARGUMENTS) this.#lines.splice(at, count, ...numbers);
    else this.#lines = this.#lines.slice(0, at).concat(numbers, this.#lines.slice(at + count));
    return undefined;
  }

  #setFinalNewline(present: boolean): void {
    if (present && this.#lines.length === 0) this.#lines.push(EMPTY_LINE);
    if (!present && this.#finalNewline && this.#lines.length === 1 && this.#lines[0] === EMPTY_LINE)
      this.#lines.pop();
    this.#finalNewline = present;
  }

  /** Brings the lines to the form in which their bytes would be read again, so that a later section sees just those. */
  #endSection(): void {
    if (!this.#finalNewline && this.#lines.at(-1) === EMPTY_LINE) {
      this.#lines.pop();
      this.#finalNewline = true;
    }
    const size = this.#lines.length;
    if (size === 0) this.#finalNewline = false;
    if (size === 0 || (size === 1 && !this.#finalNewline)) this.#eol = "\n";
    if (size > 0) this.#isAbsent = false;
  }
}

/** Opens a file from its bytes, or says why it is no text that can be patched. A byte order mark stays in the first line. */
function openFile(content: Buffer | undefined): OpenFile | Fault {
  if (content === undefined) return new OpenFile(undefined);
  if (hasTooManyLines(content)) {
    const text = `the file has more than ${MOST_FILE_LINES} lines, which are too many to patch`;
    return { reason: "too_much_work", text };
  }
  if (!isUtf8(content)) return { reason: "invalid_utf8", text: "invalid UTF-8 in file" };
  const text = content.toString("utf8");
  return newlineFault(text) ?? new OpenFile(splitLines(text));
}

function hasTooManyLines(content: Buffer): boolean {
  if (content.length <= MOST_FILE_LINES) return false;
  let feeds = 0;
  for (const byte of content) if (byte === LINE_FEED && ++feeds > MOST_FILE_LINES) return true;
  return false;
}

export function splitLines(text: string): FileLines {
  const eol = text.includes("\r") ? "\r\n" : "\n";
  if (text === "") return { lines: [], finalNewline: false, eol };
  const lines = text.split(eol);
  const finalNewline = lines.at(-1) === "";
  if (finalNewline) lines.pop();
  return { lines, finalNewline, eol };
}

/** The text of the lines: what `splitLines` split, when nothing changed. */
export function joinLines({ lines, finalNewline, eol }: FileLines): string {
  return lines.join(eol) + (finalNewline ? eol : "");
}

function newlineFault(text: string): Fault | undefined {
  if (!text.includes("\r")) return undefined;
  const bareCr = text.search(/\r(?!\n)/);
  const lineOf = (index: number) => text.slice(0, index).split("\n").length;
  if (bareCr !== -1) return { reason: "bare_cr", text: `bare CR in file at file line ${lineOf(bareCr)}` };
  const bareLf = text.search(/(?<!\r)\n/);
  if (bareLf === -1) return undefined;
  const what = "mixed EOL in file: CRLF and LF, the first LF";
  return { reason: "mixed_eol", text: `${what} at file line ${lineOf(bareLf)}` };
}
