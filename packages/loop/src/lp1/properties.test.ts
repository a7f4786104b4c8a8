import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyPatch, type FileLines, joinLines, splitLines } from "./apply.ts";

import { block, type Choose, encodeDiff } from "./fixtures/encode-diff.ts";
import { plainApply } from "./fixtures/plain-apply.ts";
import { applySection, operationsOf, patchOf } from "./fixtures/read.ts";
import { parsePatch } from "./parse.ts";
import type { Lp1Operation } from "./patch.ts";
import { isLp1Problem } from "./patch.ts";

const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      "a",
      "b",
      "",
      ".",
      "..",
      ".env",
      " .",
      "END",
      "LP1",
      "F x",
      "# c",
      "a ",
      "\ta",
    ),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: "grapheme", maxLength: 6 }).map((text) => text.replaceAll(/[\r\n]/g, "")),
  },
);
const lines = fc.array(line, { maxLength: 14 });
const eol = fc.constantFrom("\n" as const, "\r\n" as const);
const choices = fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 40 });

function chooser(numbers: readonly number[]): Choose {
  let taken = 0;
  return (ways) => (numbers[taken++ % numbers.length] ?? 0) % ways;
}

/** Read again from its bytes, so that it is a file that there can be. */
function canonical(file: FileLines): FileLines {
  return splitLines(joinLines(file));
}

/** The edited file: some lines of the first kept, others put in, so that there is something to find. */
const edit = fc
  .record({
    before: lines,
    eol,
    finalNewline: fc.boolean(),
    keep: fc.array(fc.nat(4)),
    fresh: lines,
    end: fc.boolean(),
  })
  .map(({ before, keep, fresh, end, ...rest }) => {
    const file = canonical({ lines: before, ...rest });
    const after = file.lines.flatMap((each, index) => {
      const what = keep[index % Math.max(1, keep.length)] ?? 4;
      return what === 0
        ? []
        : what === 1
          ? fresh.slice(0, 3)
          : what === 2
            ? [each, ...fresh.slice(3, 5)]
            : [each];
    });
    if (keep.length % 5 === 0) after.push(...fresh.slice(5));
    const edited = canonical({ lines: after, finalNewline: end, eol: file.eol });
    return { before: file, after: { ...edited, eol: file.eol } };
  });

const find = fc.array(fc.constantFrom("a", "b", "a", ""), { maxLength: 4 });
const occurrence = fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined });
const operation: fc.Arbitrary<Lp1Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom("replace" as const, "insert_after" as const, "insert_before" as const),
      line: fc.constant(1),
      occurrence,
      find,
      lines: find,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("erase" as const),
      line: fc.constant(1),
      occurrence,
      find,
      lines: fc.constant([]),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("append" as const, "prepend" as const),
      line: fc.constant(1),
      lines: find,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("final_newline" as const),
      line: fc.constant(1),
      present: fc.boolean(),
    }),
  },
);
const text = fc
  .tuple(fc.array(fc.constantFrom("a", "a", "b", ""), { maxLength: 30 }), fc.boolean())
  .map(([rows, ends]) => rows.join("\n") + (ends ? "\n" : ""));

function outcomeOf(before: string, operations: readonly Lp1Operation[]) {
  const outcome = applySection(Buffer.from(before), operations);
  if (isLp1Problem(outcome)) return { reason: outcome.reason };
  return outcome.kind === "changed" ? outcome.content.toString() : before;
}

describe("LP1", { timeout: 60_000 }, () => {
  it("makes the edited file of the first, byte for byte, however the edit is written [FR-TOOL-PATCH-01]", () => {
    fc.assert(
      fc.property(edit, choices, eol, ({ before, after }, numbers, patchEol) => {
        const body = encodeDiff(before, after, chooser(numbers));
        const patch = patchOf(["LP1", "F a", ...body, "END"].join(patchEol));
        const content = Buffer.from(joinLines(before));
        const outcome = applySection(content, patch.sections[0]?.operations ?? []);
        if (isLp1Problem(outcome)) throw new Error(outcome.message);
        const got = outcome.kind === "changed" ? outcome.content : content;
        expect(got.toString()).toBe(joinLines(after));
      }),
    );
  });

  it("does what its rules say, written down simply [FR-TOOL-PATCH-01]", () => {
    fc.assert(
      fc.property(text, fc.array(operation, { maxLength: 6 }), (before, operations) => {
        expect(outcomeOf(before, operations)).toEqual(plainApply(before, operations));
      }),
    );
  });

  it("takes sections on one file as one after the other [FR-TOOL-PATCH-01]", () => {
    const sections = fc.array(fc.array(operation, { maxLength: 4 }), { maxLength: 4 });
    fc.assert(
      fc.property(text, sections, eol, (start, parts, newline) => {
        const begin = start.replaceAll("\n", newline);
        let now: string | { reason: string } = begin;
        for (const part of parts) if (typeof now === "string") now = outcomeOf(now, part);
        const patch = {
          kind: "lp1_patch" as const,
          sections: parts.map((operations) => ({ path: "a", line: 1, operations })),
        };
        const outcome = applyPatch(patch, { keyOf: (path) => path, read: () => Buffer.from(begin) });
        const [file] = isLp1Problem(outcome) ? [] : outcome.files;
        const got = file?.kind === "modified" ? file.content.toString() : begin;
        expect(isLp1Problem(outcome) ? { reason: outcome.reason } : got).toEqual(now);
      }),
    );
  });

  it("leaves a file as it is when nothing is to be changed [FR-TOOL-PATCH-01]", () => {
    fc.assert(
      fc.property(lines, eol, fc.boolean(), (rows, newline, finalNewline) => {
        const content = Buffer.from(joinLines({ lines: rows, eol: newline, finalNewline }));
        expect(applySection(content, operationsOf("T", ".", "B", "."))).toEqual({ kind: "unchanged" });
      }),
    );
  });

  it("reads back any block that is written with its dots stuffed [FR-TOOL-PATCH-01]", () => {
    fc.assert(
      fc.property(lines, (rows) => {
        expect(operationsOf("T", ...block(rows))).toEqual([{ kind: "append", line: 3, lines: rows }]);
      }),
    );
  });

  it("never throws on any text, and blames a line that there is [FR-TOOL-PATCH-01]", () => {
    const row = fc.oneof(
      line,
      fc.constantFrom("LP1", "F a", "R", "R 2", "I", "P", "E", "T", "B", "N +", "N -", "END", '"', 'F "'),
    );
    const rows = fc.array(row, { maxLength: 20 }).map((each) => ["LP1", "F a", ...each].join("\n"));
    const any = fc.oneof(
      fc.string({ unit: "binary" }),
      rows,
      rows.map((each) => `${each}\nEND`),
    );
    fc.assert(
      fc.property(any, (given) => {
        const patch = parsePatch(given);
        if (!isLp1Problem(patch)) return;
        expect(patch.line).toBeGreaterThanOrEqual(1);
        expect(patch.line).toBeLessThanOrEqual(Math.max(1, given.split("\n").length));
        expect(patch.message.length).toBeLessThan(1_500);
      }),
    );
  });
});
