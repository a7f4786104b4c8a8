import { describe, expect, it } from "vitest";
import { patchOf } from "./fixtures/read.ts";
import { parsePatch } from "./parse.ts";
import { isLp1Problem } from "./patch.ts";

const ACCEPTED: [string, string][] = [
  ["comments and blank lines before the header", "# why\n\n \t\nLP1\nEND\n"],
  ["blank lines and comments after the footer", "LP1\nEND\n\n \t# done\n"],
  ["a patch without sections", "LP1\nEND"],
  ["a section without operations", "LP1\nF a\nEND\n"],
  ["spaces and tabs context keywords", " \tLP1\t \n \tF \t a\t\n\tT \nx\n. \t\n N \t+ \n\tEND \n"],
  ["comments between operations", "LP1\n#x\nF a\n  # y\nT\n.\n\n# z\nEND\n"],
  ["CRLF in the patch", "LP1\r\nF a\r\nT\r\nx\r\n.\r\nEND\r\n"],
];

const REJECTED: [string, number, string][] = [
  ["", 1, "missing header"],
  ["# only\n", 1, "missing header"],
  ["LP2\nEND\n", 1, "invalid header"],
  ["\nLP1 x\nEND\n", 2, "invalid header"],
  ["lp1\nEND\n", 1, "invalid header"],
  ["\ufeffLP1\nEND\n", 1, "invalid header"],
  ["\u00a0LP1\nEND\n", 1, "invalid header"],
  ["*** Begin Patch\n", 1, "LP1 and then has, each on a line of its own: F path, R, the lines to find"],
  ["LP1\n", 1, "missing END"],
  ["LP1\nF a\nT\nx\n.\n", 5, "missing END"],
  ["LP1\nend\n", 2, "expected file section"],
  ["LP1\nEND\nmore\n", 3, "text after END"],
  ["LP1\nEND\nLP1\nEND\n", 3, "text after END"],
  ["LP1\nEND x\n", 2, "expected file section"],
  ["LP1\nF a\n\u00a0END\n", 3, "unknown operation"],
  ["LP1\nT\nx\n.\nEND\n", 2, "expected file section"],
  ["LP1\nFa\nEND\n", 2, "expected file section"],
  ["LP1\nF a\nFoo\nEND\n", 3, "unknown operation"],
  ["LP1\nF\nEND\n", 2, "missing file path"],
  ['LP1\nF ""\nEND\n', 2, "empty file path"],
  ["LP1\nF a b\nEND\n", 2, "text after the file path"],
  ["LP1\nF a\u00a0b\nEND\n", 2, "text after the file path"],
  ['LP1\nF a"b\nEND\n', 2, "text after the file path"],
  ['LP1\nF "a" b\nEND\n', 2, "text after the quoted path"],
  ['LP1\nF "a"b\nEND\n', 2, "text after the quoted path"],
  ['LP1\nF "a\nEND\n', 2, "unterminated quoted path"],
  ['LP1\nF "a\\"\nEND\n', 2, "unterminated quoted path"],
  ['LP1\nF "a\\n"\nEND\n', 2, "invalid escape"],
  ['LP1\nF "a\\\\\\x"\nEND\n', 2, "invalid escape"],
  ["LP1\nF a\nA\nx\n.\n.\nEND\n", 3, "unknown operation"],
  ["LP1\nF a\nr\nx\n.\n.\nEND\n", 3, "unknown operation"],
  ["LP1\nF a\nR2\nx\n.\n.\nEND\n", 3, "white space must follow 'R'"],
  ["LP1\nF a\nN+\nEND\n", 3, "white space must follow 'N'"],
  ["LP1\nF a\nN\nEND\n", 3, "invalid N flag"],
  ["LP1\nF a\nN + +\nEND\n", 3, "invalid N flag"],
  ["LP1\nF a\nT x\n.\nEND\n", 3, "text after T or B"],
  ["LP1\nF a\nB 1\n.\nEND\n", 3, "text after T or B"],
  ["LP1\nF a\nR 0\nx\n.\n.\nEND\n", 3, "occurrence must be at least 1"],
  ["LP1\nF a\nR +3\nx\n.\n.\nEND\n", 3, "invalid occurrence"],
  ["LP1\nF a\nE 007\nx\n.\nEND\n", 3, "invalid occurrence"],
  ["LP1\nF a\nE -1\nx\n.\nEND\n", 3, "invalid occurrence"],
  ["LP1\nF a\nI 1 2\nx\n.\n.\nEND\n", 3, "invalid occurrence"],
  ["LP1\nF a\nP x\nx\n.\n.\nEND\n", 3, "invalid occurrence"],
  ["LP1\nF a\nT\nx\nEND\n", 3, "unterminated block"],
  ["LP1\nF a\nR\nx\n.\ny\nEND\n", 5, "unterminated block"],
  ["LP1\nF a\nR\nx\n.\n.y\n.\nEND\n", 6, "must start with '..'"],
  ["LP1\nF a\nT\n. x\n.\nEND\n", 4, "must start with '..'"],
  ["LP1\nF a\nT\nx\ry\n.\nEND\n", 4, "a CR without LF"],
  ["LP1\nF a\nT\nx\r\r\n.\nEND\n", 4, "a CR without LF"],
  ["LP1\nEND\r", 2, "a CR without LF"],
  ["LP1\nF a\nT\n\ud800\n.\nEND\n", 4, "half a surrogate pair"],
];

describe("reading a patch", () => {
  it.each(ACCEPTED)("accepts %s [FR-TOOL-PATCH-01]", (_, text) => {
    expect(parsePatch(text)).toMatchObject({ kind: "lp1_patch" });
  });

  it.each(REJECTED)("refuses %j at line %i: %s [FR-TOOL-PATCH-01]", (text, line, message) => {
    const problem = parsePatch(text);
    expect(problem).toMatchObject({ kind: "lp1_problem", reason: "bad_patch", line });
    if (isLp1Problem(problem)) expect(problem.message).toContain(message);
    if (isLp1Problem(problem)) expect(problem.message).toContain(`patch line ${line}: `);
  });

  it("gives every operation its line and its blocks [FR-TOOL-PATCH-01]", () => {
    const text =
      "LP1\nF a\n# c\nR 12\nx\n.\n..y\n\n.\nE\n.\nF b\nN -\nB\n.\nI\nq\n.\n.\nP\nq\n.\n.\nT\n.\nEND\n";
    expect(patchOf(text).sections).toEqual([
      {
        path: "a",
        line: 2,
        operations: [
          { kind: "replace", line: 4, occurrence: 12, find: ["x"], lines: [".y", ""] },
          { kind: "erase", line: 10, occurrence: undefined, find: [], lines: [] },
        ],
      },
      {
        path: "b",
        line: 12,
        operations: [
          { kind: "final_newline", line: 13, present: false },
          { kind: "prepend", line: 14, lines: [] },
          { kind: "insert_after", line: 16, occurrence: undefined, find: ["q"], lines: [] },
          { kind: "insert_before", line: 20, occurrence: undefined, find: ["q"], lines: [] },
          { kind: "append", line: 24, lines: [] },
        ],
      },
    ]);
  });

  it.each([
    ["src/a.ts", "src/a.ts"],
    ['"a b"', "a b"],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['" a "', " a "],
    ["a\\b", "a\\b"],
    ["#a", "#a"],
    ["日本.txt", "日本.txt"],
  ])("reads the path %s as %s [FR-TOOL-PATCH-01]", (written, path) => {
    expect(patchOf(`LP1\nF ${written}\nEND\n`).sections).toEqual([{ path, line: 2, operations: [] }]);
  });

  it("keeps the white space of rows, and takes CRLF for LF [FR-TOOL-PATCH-01]", () => {
    const [section] = patchOf("LP1\r\nF a\r\nT\r\n \tx \r\n .\r\n\r\n.\t\r\nEND").sections;
    expect(section?.operations).toEqual([{ kind: "append", line: 3, lines: [" \tx ", " .", ""] }]);
  });

  it("reads an occurrence of any length", () => {
    const [section] = patchOf(`LP1\nF a\nE ${"9".repeat(400)}\nx\n.\nEND`).sections;
    expect(section?.operations).toMatchObject([{ occurrence: Number.MAX_SAFE_INTEGER }]);
  });

  it("shows a bounded, harmless part of what is wrong", () => {
    const problem = parsePatch(`LP1\nF a\nZ\u001b[2J\u202e${"x".repeat(100_000)}\nEND`);
    if (!isLp1Problem(problem)) throw new Error("expected a problem");
    expect(problem.message.length).toBeLessThan(400);
    expect(problem.message).toContain("Z\\u{1b}[2J\\u{202e}xxx");
  });
});
