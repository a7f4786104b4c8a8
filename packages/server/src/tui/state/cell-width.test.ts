import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutCells, textCells, wrapCells, wrapWords } from "./cell-width.ts";

describe("widths in a terminal", () => {
  it.each([
    ["abc", 3],
    ["漢字", 4],
    ["é", 1],
    ["e\u0301", 1],
    ["👍🏽", 2],
    ["한글", 4],
    ["", 0],
  ])("%j takes %i columns", (text, cells) => {
    expect(textCells(text)).toBe(cells);
  });

  it("a broken line loses nothing and fits", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 100 }),
        fc.integer({ min: 2, max: 20 }),
        (line, width) => {
          const rows = wrapCells(line, width);
          expect(rows.join("")).toBe(line);
          for (const row of rows) expect(textCells(row)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it("a line that is broken between words loses none and fits", () => {
    expect(wrapWords("    if (a) return b;", 12)).toEqual(["    if (a)", "return b;"]);
    expect(wrapWords("these arguments, in every folder", 12)).toEqual([
      "these",
      "arguments,",
      "in every",
      "folder",
    ]);
    const words = fc.array(fc.string({ unit: fc.constantFrom("a", "é", "漢", "👍🏽"), maxLength: 15 }), {
      minLength: 1,
    });
    fc.assert(
      fc.property(words, fc.integer({ min: 2, max: 20 }), (some, width) => {
        const rows = wrapWords(some.join(" "), width);
        expect(rows.join("").replaceAll(" ", "")).toBe(some.join(""));
        for (const row of rows) expect(textCells(row)).toBeLessThanOrEqual(width);
      }),
    );
  });

  it("a cut line says so", () => {
    expect(cutCells("abcdef", 4)).toBe("abc…");
    expect(cutCells("漢字漢字", 5)).toBe("漢字…");
    expect(cutCells("abc", 4)).toBe("abc");
  });
});
