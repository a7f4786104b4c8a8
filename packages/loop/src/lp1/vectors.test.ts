import { describe, expect, it } from "vitest";

import { applySection, operationsOf } from "./fixtures/read.ts";
import { parsePatch } from "./parse.ts";
import { isLp1Problem } from "./patch.ts";

const ABSENT = undefined;
type Before = string | undefined;

/** Before, the body's rows divided by `⏎`, after. */
const CHANGES: [Before, string, string][] = [
  ["a\nb\n", "R⏎b⏎.⏎B1⏎B2⏎.", "a\nB1\nB2\n"],
  ["a\nb", "T⏎c⏎.", "a\nb\nc"],
  ["a\nb\n", "T⏎c⏎.", "a\nb\nc\n"],
  ["", "T⏎x⏎.", "x"],
  [ABSENT, "T⏎x⏎.", "x"],
  ["", "T⏎x⏎.⏎N +", "x\n"],
  [ABSENT, "T⏎x⏎.⏎N +", "x\n"],
  ["", "N +⏎T⏎x⏎.", "\nx\n"],
  [ABSENT, "N +⏎T⏎x⏎.", "\nx\n"],
  ["", "N +", "\n"],
  [ABSENT, "N +", "\n"],
  ["\n", "N -", ""],
  ["a\n", "E⏎a⏎.", ""],
  ["a\n", "E⏎a⏎.⏎T⏎b⏎.", "b\n"],
  ["a\r\nb\r\n", "I⏎a⏎.⏎x⏎.", "a\r\nx\r\nb\r\n"],
  ["a\na\na\n", "R 2⏎a⏎a⏎.⏎Z⏎.", "a\nZ\n"],
  ["a\nb\n", "R 2⏎.⏎mid⏎.", "a\nmid\nb\n"],
  [".env\n", "R⏎..env⏎.⏎..env.local⏎..⏎.", ".env.local\n.\n"],
  ["a\n", "T⏎  .⏎⏎# c⏎END⏎.  ", "a\n  .\n\n# c\nEND\n"],
  ["a\nb\n", "P⏎b⏎.⏎x⏎.⏎R⏎x⏎b⏎.⏎y⏎.", "a\ny\n"],
  ["a\n", "R⏎a⏎.⏎.", ""],
  // Beyond the published ones.
  ["a\n", "B⏎x⏎y⏎.", "x\ny\na\n"],
  ["a\nb\n", "N -", "a\nb"],
  ["a\nb", "N +", "a\nb\n"],
  ["a\nb", "N +⏎N -⏎N +", "a\nb\n"],
  ["a\n\n", "N -", "a\n"],
  ["a\nb\n", "I 3⏎.⏎z⏎.", "a\nb\nz\n"],
  ["a\nb\n", "P 1⏎.⏎z⏎.", "z\na\nb\n"],
  ["a\r\nb", "T⏎c⏎.⏎N +", "a\r\nb\r\nc\r\n"],
  ["a", "T⏎b⏎.", "a\nb"],
  ["\ufeffa\nb\n", "R⏎\ufeffa⏎.⏎\ufeffz⏎.", "\ufeffz\nb\n"],
  ["a\nb\n", "R⏎a⏎.⏎...⏎..x⏎.\t", "..\n.x\nb\n"],
  ["F x\nLP1\n", "R⏎F x⏎LP1⏎.⏎R⏎.", "R\n"],
  ["é\n日本\n", "I⏎日本⏎.⏎🙂⏎.", "é\n日本\n🙂\n"],
];

const UNCHANGED: [Before, string][] = [
  [ABSENT, "T⏎."],
  [ABSENT, ""],
  [ABSENT, "T⏎⏎."],
  ["a\n", ""],
  ["a\n", "R⏎a⏎.⏎a⏎."],
  ["a\n", "E 2⏎."],
  ["a\n", "T⏎x⏎.⏎E⏎x⏎."],
  ["a\r\n", "N +"],
];

const PROBLEMS: [Before | Buffer, string, string, number][] = [
  ["a\r\nb\n", "T⏎x⏎.", "mixed EOL", 3],
  ["a\nb\r\n", "N +", "mixed EOL", 3],
  ["a\r\nb\n", "", "mixed EOL", 1],
  ["a\rb", "T⏎x⏎.", "bare CR", 3],
  ["a\r\r\n", "T⏎x⏎.", "bare CR", 3],
  ["a\r\nb\r", "T⏎x⏎.", "bare CR", 3],
  ["a\na\n", "R⏎a⏎.⏎z⏎.", "match is not unique", 3],
  ["a\n", "R 3⏎a⏎.⏎z⏎.", "occurrence out of range", 3],
  ["a\n", "R⏎q⏎.⏎z⏎.", "match not found", 3],
  ["a\n", "R⏎.⏎x⏎.", "empty match requires occurrence", 3],
  ["a\n", "R 3⏎.⏎x⏎.", "occurrence out of range", 3],
  ["a\n", "N +⏎T⏎x⏎.⏎E⏎q⏎.", "match not found", 7],
  ["A\n", "E⏎a⏎.", "match not found", 3],
  ["a \n", "E⏎a⏎.", "match not found", 3],
  ["ab\n", "E⏎a⏎.", "match not found", 3],
  ["\ufeffa\n", "E⏎a⏎.", "match not found", 3],
  ["", "E⏎⏎.", "match not found", 3],
  ["a", "E⏎a⏎⏎.", "match not found", 3],
  [ABSENT, "E⏎a⏎.", "does not exist for match-based operation", 3],
  [ABSENT, "T⏎a⏎.⏎I⏎a⏎.⏎b⏎.", "does not exist for match-based operation", 6],
  [ABSENT, "E 1⏎.", "does not exist for match-based operation", 3],
  [Buffer.from([0x61, 0xff, 0x0a]), "T⏎x⏎.", "invalid UTF-8", 3],
];

const rowsOf = (body: string) => (body === "" ? [] : body.split("⏎"));
const bytes = (before: Before | Buffer) => (typeof before === "string" ? Buffer.from(before) : before);

describe("a section applied to a file", () => {
  it.each(CHANGES)("%j by %s is %j [FR-TOOL-PATCH-01]", (before, body, after) => {
    const outcome = applySection(bytes(before), operationsOf(...rowsOf(body)));
    expect(outcome).toEqual({ kind: "changed", content: Buffer.from(after) });
  });

  it.each(UNCHANGED)("%j by %s is unchanged [FR-TOOL-PATCH-01]", (before, body) => {
    expect(applySection(bytes(before), operationsOf(...rowsOf(body)))).toEqual({ kind: "unchanged" });
  });

  it.each(PROBLEMS)("%j by %s is the problem: %s [FR-TOOL-PATCH-01]", (before, body, text, line) => {
    const outcome = applySection(bytes(before), operationsOf(...rowsOf(body)));
    expect(outcome).toMatchObject({ kind: "lp1_problem", line });
    if (isLp1Problem(outcome)) expect(outcome.message).toContain(text);
  });

  it("refuses a row with one leading dot [FR-TOOL-PATCH-01]", () => {
    const problem = parsePatch("LP1\nF a\nT\n.bad\n.\nEND\n");
    expect(problem).toMatchObject({ kind: "lp1_problem", line: 4, path: "a" });
  });

  it("leaves the bytes it was given alone", () => {
    const before = Buffer.from("a\nb\n");
    applySection(before, operationsOf("E", "a", "."));
    expect(before.toString()).toBe("a\nb\n");
  });
});
