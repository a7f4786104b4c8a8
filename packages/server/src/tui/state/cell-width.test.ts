import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutCells, textCells, wrapCells } from "./cell-width.ts";

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

  it("a cut line says so", () => {
    expect(cutCells("abcdef", 4)).toBe("abc…");
    expect(cutCells("漢字漢字", 5)).toBe("漢字…");
    expect(cutCells("abc", 4)).toBe("abc");
  });
});
