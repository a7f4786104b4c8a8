import { excerpt } from "./excerpt.ts";
import { parseOperation, splitCommand } from "./parse-operation.ts";
import { parsePath } from "./parse-path.ts";
import type { Lp1Patch, Lp1Section } from "./patch.ts";
import { PatchRows, patchRows } from "./patch-rows.ts";
import { badPatch, isLp1Problem, type Lp1Problem, problemAt } from "./problem.ts";

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
