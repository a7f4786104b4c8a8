import { badPatch, type Lp1Problem, problemAt } from "./problem.ts";

/** The rows of a patch, read one after the other. A row's newline, LF or CRLF, is no part of it. */
export class PatchRows {
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
export function patchRows(text: string): PatchRows | Lp1Problem {
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
export function trimmed(row: string): string {
  let from = 0;
  let to = row.length;
  while (from < to && isSpace(row[from])) from += 1;
  while (to > from && isSpace(row[to - 1])) to -= 1;
  return row.slice(from, to);
}
