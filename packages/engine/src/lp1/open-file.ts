import { type FileLines, readFileLines, writeFileLines } from "./file-lines.ts";
import { LineList } from "./line-list.ts";
import { locate, nodeBefore } from "./locate.ts";
import { emptyMatch, matchFault, outOfRange, tooMuchWork } from "./match-fault.ts";
import { isMatchOperation, type Lp1Operation, type MatchOperation } from "./patch.ts";
import { type Fault, type Lp1Problem, problemAt } from "./problem.ts";
import type { Work } from "./work.ts";

/** A file while operations run on it. */
export class OpenFile {
  readonly #list: LineList;
  readonly #names: ReadonlyMap<string, number>;
  #finalNewline: boolean;
  #eol: FileLines["eol"];
  #isAbsent: boolean;

  /** `operations` are all that will ever run on it; undefined lines are a file that does not exist. */
  constructor(file: FileLines | undefined, operations: readonly Lp1Operation[]) {
    this.#names = namesIn(operations);
    this.#list = new LineList({
      lines: file?.lines ?? [],
      inserts: insertsOf(operations),
      names: this.#names,
    });
    this.#finalNewline = file?.finalNewline ?? false;
    this.#eol = file?.eol ?? "\n";
    this.#isAbsent = file === undefined;
  }

  /** Runs one section's operations in order; after a problem the file is of no further use. */
  run(operations: readonly Lp1Operation[], work: Work): Lp1Problem | undefined {
    const missing = this.#isAbsent ? operations.find(isMatchOperation) : undefined;
    if (missing !== undefined) return problemAt(missing.line, missingFile());
    for (const operation of operations) {
      const fault = this.#runOne(operation, work);
      if (fault !== undefined) return problemAt(operation.line, fault);
    }
    this.#endSection();
    return undefined;
  }

  /** Its bytes now. */
  content(): Buffer {
    const lines = Array.from(this.#list.nodes(), (node) => this.#list.text(node));
    return writeFileLines({ lines, finalNewline: this.#finalNewline, eol: this.#eol });
  }

  #runOne(operation: Lp1Operation, work: Work): Fault | undefined {
    if (isMatchOperation(operation)) return this.#match(operation, work);
    if (operation.kind === "final_newline") this.#setFinalNewline(operation.present);
    else this.#list.insertAfter(operation.kind === "append" ? this.#list.previous(0) : 0, operation.lines);
    return undefined;
  }

  #match(operation: MatchOperation, work: Work): Fault | undefined {
    if (operation.find.length === 0) return this.#atGap(operation, work);
    const find = Int32Array.from(operation.find, (line) => this.#names.get(line) ?? 0);
    const location = locate(this.#list, { find, occurrence: operation.occurrence }, work);
    if (location.kind !== "found")
      return matchFault(location, this.#list, { texts: operation.find, names: find });
    this.#edit(operation, location.first);
    return undefined;
  }

  #edit({ kind, find, lines }: MatchOperation, first: number): void {
    let before = this.#list.previous(first);
    if (kind === "replace" || kind === "erase") this.#list.remove(first, find.length);
    if (kind === "insert_after") for (const _ of find) before = this.#list.next(before);
    this.#list.insertAfter(before, lines);
  }

  /** A find-block without lines means the gap before the line that the occurrence names. */
  #atGap({ occurrence, lines }: MatchOperation, work: Work): Fault | undefined {
    const { size } = this.#list;
    if (occurrence === undefined) return emptyMatch();
    if (occurrence > size + 1) return outOfRange(`the file has ${size} lines, so ${size + 1} gaps`);
    if (!work.spend(Math.min(occurrence, size + 1 - occurrence))) return tooMuchWork();
    this.#list.insertAfter(nodeBefore(this.#list, occurrence), lines);
    return undefined;
  }

  #setFinalNewline(present: boolean): void {
    if (present && this.#list.size === 0) this.#list.insertAfter(0, [""]);
    if (!present && this.#finalNewline && this.#list.size === 1 && this.#list.text(this.#list.next(0)) === "")
      this.#list.remove(this.#list.next(0), 1);
    this.#finalNewline = present;
  }

  /** Brings the lines to the form in which their bytes would be read again, so that a later section sees just those. */
  #endSection(): void {
    const last = this.#list.previous(0);
    if (!this.#finalNewline && last !== 0 && this.#list.text(last) === "") {
      this.#list.remove(last, 1);
      this.#finalNewline = true;
    }
    if (this.#list.size === 0) this.#finalNewline = false;
    if (this.#list.size === 0 || (this.#list.size === 1 && !this.#finalNewline)) this.#eol = "\n";
    if (this.#list.size > 0) this.#isAbsent = false;
  }
}

/** Opens a file from its bytes, or says why it is no text that can be patched. */
export function openFile(content: Buffer | undefined, operations: readonly Lp1Operation[]): OpenFile | Fault {
  const file = content === undefined ? undefined : readFileLines(content);
  return file !== undefined && "reason" in file ? file : new OpenFile(file, operations);
}

function missingFile(): Fault {
  const advice = "only T, B and N create a file";
  return { reason: "missing_file", text: `file does not exist for match-based operation; ${advice}` };
}

function namesIn(operations: readonly Lp1Operation[]): Map<string, number> {
  const names = new Map<string, number>();
  for (const operation of operations) {
    if (!isMatchOperation(operation)) continue;
    for (const line of operation.find) if (!names.has(line)) names.set(line, names.size + 1);
  }
  return names;
}

/** `N +` may put in one line. */
function insertsOf(operations: readonly Lp1Operation[]): number {
  return operations.reduce((sum, each) => sum + (each.kind === "final_newline" ? 1 : each.lines.length), 0);
}
