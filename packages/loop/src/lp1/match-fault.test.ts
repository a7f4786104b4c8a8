import { describe, expect, it } from "vitest";

import { applySection, operationsOf } from "./fixtures/read.ts";
import { isLp1Problem, type Lp1Problem } from "./patch.ts";

function problemOf(before: string, ...rows: string[]): Lp1Problem {
  const outcome = applySection(Buffer.from(before), operationsOf(...rows));
  if (!isLp1Problem(outcome)) throw new Error("expected a problem");
  return outcome;
}

describe("a find-block that is not in the file", () => {
  it("is told where most leading lines are equal [FR-TOOL-PATCH-01]", () => {
    const { nearest, message } = problemOf("a\nx\ny\na\nb\nz\nq\n", "E", "a", "b", "c", "q", ".");
    expect(nearest).toEqual({ line: 4, firstDifference: { fileLine: 6, expected: "c", found: "z" } });
    expect(message).toBe(
      'patch line 3: match not found: nearest at file line 4, where at file line 6 the find-block has "c" but the file has "z"',
    );
  });

  it("prefers more equal lines among the same leading ones [FR-TOOL-PATCH-01]", () => {
    const { nearest } = problemOf("a\n1\n2\na\n1\nc\nd\n", "E", "a", "b", "c", "d", ".");
    expect(nearest).toEqual({ line: 4, firstDifference: { fileLine: 5, expected: "b", found: "1" } });
  });

  it("is found by its other lines when the first is wrong [FR-TOOL-PATCH-01]", () => {
    const { nearest } = problemOf("x\ny\nA\nb\nc\n", "E", "a", "b", "c", ".");
    expect(nearest).toEqual({ line: 3, firstDifference: { fileLine: 3, expected: "a", found: "A" } });
  });

  it("is found by lines that differ in white space or case only [FR-TOOL-PATCH-01]", () => {
    const { nearest, message } = problemOf("x\n\tIf (a) {\n", "E", "  if (a) {", ".");
    expect(nearest).toMatchObject({ line: 2, firstDifference: { fileLine: 2, found: "\\tIf (a) {" } });
    expect(message).toContain('has "  if (a) {" but the file has "\\tIf (a) {"');
  });

  it("is told that the file ends [FR-TOOL-PATCH-01]", () => {
    const { nearest, message } = problemOf("x\na\n", "E", "a", "b", ".");
    expect(nearest).toEqual({ line: 2, firstDifference: { fileLine: 3, expected: "b", found: null } });
    expect(message).toContain("the file ends");
  });

  it("has no nearest place when nothing is like it", () => {
    const problem = problemOf("x\n\n", "E", "a", "b", ".");
    expect(problem.nearest).toBeUndefined();
    expect(problem.message).toContain("no line of it is in the file (2 lines)");
  });

  it("is looked for in what earlier operations left [FR-TOOL-PATCH-01]", () => {
    const problem = problemOf("a\nb\n", "B", "1", "2", ".", "E", "b", "c", ".");
    expect(problem).toMatchObject({
      line: 7,
      nearest: { line: 4, firstDifference: { fileLine: 5, found: null } },
    });
  });

  it("shows long lines context their difference, bounded and harmless", () => {
    const long = "x".repeat(10_000);
    const { nearest, message } = problemOf(
      `a\n${long}\u001b[31m${long}\n`,
      "E",
      "a",
      `${long}\u202e${long}`,
      ".",
    );
    expect(nearest?.firstDifference.expected).toMatch(/^…x{40}\\u\{202e\}x+…$/);
    expect(nearest?.firstDifference.found).toMatch(/^…x{40}\\u\{1b\}\[31mx+…$/);
    expect(message.length).toBeLessThan(600);
  });
});

describe("a find-block that is in the file too often", () => {
  it("is told all its places, overlapping ones too [FR-TOOL-PATCH-01]", () => {
    const { places, message } = problemOf("a\na\na\nb\na\na\n", "E", "a", "a", ".");
    expect(places).toEqual({ count: 3, lines: [1, 2, 5] });
    expect(message).toContain("match is not unique: 3 places, at file lines 1, 2, 5;");
  });

  it("is told at most twenty, and how many there are [FR-TOOL-PATCH-01]", () => {
    const { places, message } = problemOf("a\n".repeat(1_000), "E", "a", ".");
    expect(places).toMatchObject({ count: 1_000, lines: { length: 20, 19: 20 } });
    expect(message).toContain("20, …;");
  });

  it("says how often it matches when a higher occurrence is asked for [FR-TOOL-PATCH-01]", () => {
    expect(problemOf("a\nb\na\n", "E 3", "a", ".").message).toContain("matches 2 times");
    expect(problemOf("a\nb\nc\n", "E 2", "a", ".").message).toContain("matches once");
  });
});
