import { describe, expect, it } from "vitest";
import { applyPatch } from "./apply-patch.ts";
import { patchOf } from "./fixtures/read.ts";
import { parsePatch } from "./parse-patch.ts";

const MEGABYTE = 2 ** 20;
/** What the largest patch may be. */
const PATCH_BYTES = 2 ** 19;
const TRIES = 3;
/** One event loop turn that a person would notice but no server would die of; on a core shared with other work. */
const MOST_MS = 4_000;

/** Of this thread alone, and tried again when it is too much: other work on the machine should not count. */
function expectCpu(mostMs: number, work: () => unknown): void {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && leastMs > mostMs; tries += 1) {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1_000);
  }
  expect(leastMs).toBeLessThan(mostMs);
}

/** As many repetitions as a patch has room for, in one section. */
function full(part: string): string {
  return `LP1\nF a\n${part.repeat(Math.floor((PATCH_BYTES - 20) / part.length))}END\n`;
}

const almost = `${"x\n".repeat(100_000)}y\n`;
const FILES: Record<string, string> = {
  "one line repeated": "x\n".repeat(MEGABYTE / 2),
  "only newlines": "\n".repeat(MEGABYTE),
  "two lines taking turns": "x\ny\n".repeat(MEGABYTE / 4),
  "one line": "x".repeat(MEGABYTE),
  "ordinary lines": Array.from(
    { length: 26_000 },
    (_, index) => `const value${index} = compute(${index % 97});`,
  ).join("\n"),
};
const PATCHES: [string, string][] = [
  ["a long find-block that almost matches everywhere", `LP1\nF a\nE\n${almost}.\nEND\n`],
  ["one that almost matches everywhere, its first line wrong", `LP1\nF a\nE\ny\n${almost}.\nEND\n`],
  ["a high occurrence of a repeated block, again and again", full("R 300000\nx\nx\n.\nx\nx\n.\n")],
  ["a high occurrence of a repeated line, again and again", full("R 500000\nx\n.\nx\n.\n")],
  ["a gap in the middle, again and again", full("R 250000\n.\nx\n.\n")],
  ["the first empty line out, again and again", full("E 1\n\n.\n")],
  ["lines put in and taken out again", full("B\nq\n.\nE\nq\n.\n")],
  ["many blocks of two kinds of lines", full("R 90000\nx\ny\nx\n.\ny\nx\n.\n")],
  ["many sections of one file", full("F a\nT\nx\n.\n")],
  ["many empty sections", full("F a\n")],
];

describe("hostile patches", () => {
  for (const [name, content] of Object.entries(FILES)) {
    const bytes = Buffer.from(content);
    it.each(PATCHES)(
      `end in time on a megabyte of ${name}: %s [FR-TOOL-PATCH-01]`,
      { timeout: 60_000 },
      (_, text) => {
        expect(text.length).toBeLessThanOrEqual(PATCH_BYTES);
        const patch = patchOf(text);
        expectCpu(MOST_MS, () => applyPatch(patch, { keyOf: (path) => path, read: () => bytes }));
      },
    );
  }

  it("says so when a patch takes too much searching [FR-TOOL-PATCH-01]", { timeout: 60_000 }, () => {
    const patch = patchOf(full("R 300000\nx\nx\n.\nx\nx\n.\n"));
    const bytes = Buffer.from("x\n".repeat(MEGABYTE / 2));
    const outcome = applyPatch(patch, { keyOf: (path) => path, read: () => bytes });
    expect(outcome).toMatchObject({ kind: "lp1_problem", reason: "too_much_work", path: "a" });
  });

  it("leaves thousands of ordinary operations room [FR-TOOL-PATCH-01]", { timeout: 60_000 }, () => {
    const rows = Array.from({ length: 5_000 }, (_, index) => [
      index % 2 === 0 ? "R" : "R 1",
      `const value${index * 5} = compute(${(index * 5) % 97});`,
      ".",
      `changed ${index}`,
      ".",
    ]);
    const patch = patchOf(["LP1", "F a", ...rows.flat(), "END"].join("\n"));
    const bytes = Buffer.from(FILES["ordinary lines"] ?? "");
    const run = () => applyPatch(patch, { keyOf: (path) => path, read: () => bytes });
    expect(run()).toMatchObject({ kind: "applied", files: [{ kind: "modified" }] });
    expectCpu(500, run);
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
  ])("read in time: %s [FR-TOOL-PATCH-01]", (_, text) => {
    expectCpu(500, () => parsePatch(text));
  });
});
