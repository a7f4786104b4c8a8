import { describe, expect, it } from "vitest";
import { applyPatch } from "./apply.ts";
import { patchOf } from "./fixtures/read.ts";
import { parsePatch } from "./parse.ts";

const MEGABYTE = 2 ** 20;
/** What the largest patch may be. */
const PATCH_BYTES = 2 ** 19;
/** Far more than the work there may be takes; what searches everything again for each operation takes minutes. */
const ENDLESS_MS = 60_000;

/** Processor time of this thread alone: other work on the machine does not count. */
function expectToEnd(work: () => unknown): void {
  const before = process.threadCpuUsage();
  work();
  expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(ENDLESS_MS);
}

/** As many repetitions as a patch has room for, in one section. */
function full(part: string): string {
  return `LP1\nF a\n${part.repeat(Math.floor((PATCH_BYTES - 20) / part.length))}END\n`;
}

const almost = `${"x\n".repeat(100_000)}y\n`;
const REPEATED = "x\n".repeat(MEGABYTE / 2);
const NEWLINES = "\n".repeat(MEGABYTE);
const TURNS = "x\ny\n".repeat(MEGABYTE / 4);
const ORDINARY = Array.from(
  { length: 26_000 },
  (_, index) => `const value${index} = compute(${index % 97});`,
).join("\n");
const AGAIN = full("R 300000\nx\nx\n.\nx\nx\n.\n");

const ATTACKS: [string, string, string][] = [
  ["a long find-block that almost matches everywhere", REPEATED, `LP1\nF a\nE\n${almost}.\nEND\n`],
  ["the same with its first line wrong", REPEATED, `LP1\nF a\nE\ny\n${almost}.\nEND\n`],
  ["a high occurrence of a repeated block, again and again", REPEATED, AGAIN],
  ["a gap in the middle, again and again", NEWLINES, full("R 500000\n.\nx\n.\n")],
  ["the first of many empty lines, again and again", NEWLINES, full("E 1\n\n.\n")],
  ["lines put in and taken out again", ORDINARY, full("B\nq\n.\nE\nq\n.\n")],
  ["blocks of two lines that take turns", TURNS, full("R 90000\nx\ny\nx\n.\nx\ny\nx\n.\n")],
  ["many sections on one file", ORDINARY, full("F a\nT\nx\n.\n")],
  ["one very long line", "x".repeat(MEGABYTE), `LP1\nF a\nE\n${"x".repeat(PATCH_BYTES - 20)}\n.\nEND\n`],
];

describe("hostile patches", () => {
  it.each(ATTACKS)("end in time: $0 [FR-TOOL-PATCH-01]", { timeout: 120_000 }, (_, content, text) => {
    expect(text.length).toBeLessThanOrEqual(PATCH_BYTES);
    const patch = patchOf(text);
    const bytes = Buffer.from(content);
    expectToEnd(() => applyPatch(patch, { keyOf: (path) => path, read: () => bytes }));
  });

  it("says so when a patch takes too much searching [FR-TOOL-PATCH-01]", { timeout: 120_000 }, () => {
    const patch = patchOf(AGAIN);
    const bytes = Buffer.from(REPEATED);
    const outcome = applyPatch(patch, { keyOf: (path) => path, read: () => bytes });
    expect(outcome).toMatchObject({ kind: "lp1_problem", reason: "too_much_work", path: "a" });
  });

  it("refuses a file of too many lines before it takes it apart [FR-TOOL-PATCH-01]", {
    timeout: 120_000,
  }, () => {
    const patch = patchOf("LP1\nF a\nE 1\n\n.\nEND\n");
    const run = (lines: number) => {
      const bytes = Buffer.alloc(lines, "\n");
      return () => applyPatch(patch, { keyOf: (path) => path, read: () => bytes });
    };
    // More than an array can hold: taken apart, they would end the process.
    expect(run(140_000_000)()).toMatchObject({
      kind: "lp1_problem",
      reason: "too_much_work",
      path: "a",
      message: expect.stringContaining("more than 2000000 lines"),
    });
    expect(run(2_000_000)()).toMatchObject({ kind: "applied" });
  });

  it("leaves thousands of ordinary operations room [FR-TOOL-PATCH-01]", { timeout: 120_000 }, () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => [
      index % 2 === 0 ? "R" : "R 1",
      `const value${index * 5} = compute(${(index * 5) % 97});`,
      ".",
      `changed ${index}`,
      ".",
    ]);
    const patch = patchOf(["LP1", "F a", ...rows.flat(), "END"].join("\n"));
    const bytes = Buffer.from(ORDINARY);
    const outcome = applyPatch(patch, { keyOf: (path) => path, read: () => bytes });
    expect(outcome).toMatchObject({ kind: "applied", files: [{ kind: "modified" }] });
  });

  it.each([
    ["white space", " \t".repeat(PATCH_BYTES / 2)],
    ["white space inside a command", `LP1\nF${" ".repeat(PATCH_BYTES)}a b\nEND`],
    ["quotes and backslashes", `LP1\nF "${'\\"'.repeat(PATCH_BYTES / 2)}\nEND`],
    ["backslashes", `LP1\nF "${"\\".repeat(PATCH_BYTES)}"\nEND`],
    ["digits", `LP1\nF a\nR ${"1".repeat(PATCH_BYTES)}x\nEND`],
    ["dots", `LP1\nF a\nT\n${".".repeat(PATCH_BYTES)}\nEND`],
    ["a dot and spaces", `LP1\nF a\nT\n.${" ".repeat(PATCH_BYTES)}x\nEND`],
    ["newlines", "\n".repeat(PATCH_BYTES)],
    ["carriage returns", "\r".repeat(PATCH_BYTES)],
  ])("read in time: $0 [FR-TOOL-PATCH-01]", { timeout: 120_000 }, (_, text) => {
    expectToEnd(() => parsePatch(text));
  });
});
