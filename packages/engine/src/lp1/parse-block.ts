import type { PatchRows } from "./patch-rows.ts";
import { badPatch, type Lp1Problem, problemAt } from "./problem.ts";

const TERMINATOR = /^\.[ \t]*$/;

/** The rows up to a lone dot, un-stuffed. Whether a row ends the block is looked at before its dots are. */
export function parseBlock(rows: PatchRows): string[] | Lp1Problem {
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
