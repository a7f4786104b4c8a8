import { excerpt } from "./excerpt.ts";
import { parseBlock } from "./parse-block.ts";
import type { EdgeOperation, Lp1Operation, MatchOperation } from "./patch.ts";
import { type PatchRows, trimmed } from "./patch-rows.ts";
import { badPatch, type Fault, type Lp1Problem, problemAt } from "./problem.ts";

const MATCH: Readonly<Record<string, MatchOperation["kind"]>> = {
  R: "replace",
  I: "insert_after",
  P: "insert_before",
  E: "erase",
};
const EDGE: Readonly<Record<string, EdgeOperation["kind"]>> = { T: "append", B: "prepend" };

/** A command's letter and what stands after it; undefined when no white space divides them. */
export function splitCommand(command: string): { letter: string; rest: string } | undefined {
  const letter = command.slice(0, 1);
  const divided = command.length === 1 || command[1] === " " || command[1] === "\t";
  return divided ? { letter, rest: trimmed(command.slice(1)) } : undefined;
}

/** Reads the operation whose command was just taken, with its blocks. */
export function parseOperation(command: string, rows: PatchRows): Lp1Operation | Lp1Problem {
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
