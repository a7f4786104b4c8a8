import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { headAndTail, TRUNCATION_MARKER, truncateOutput } from "./results.ts";

const bytes = (text: string) => Buffer.byteLength(text);
const anyText = fc.string({
  unit: fc.constantFrom("a", "\n", "é", "€", "🎉", "\u0301"),
  maxLength: 200,
  size: "max",
});

describe("cutting an output to its limit", () => {
  it("ends in the marker, which is inside the limit [FR-OUT-04] [T-OUT-01]", () => {
    const cut = truncateOutput("x".repeat(1_000), 100);
    expect(bytes(cut)).toBe(100);
    expect(cut).toBe("x".repeat(100 - TRUNCATION_MARKER.length) + TRUNCATION_MARKER);
    expect(TRUNCATION_MARKER).toBe("\n\n... [output truncated]");
  });

  it("leaves alone what fits to the byte [FR-OUT-04]", () => {
    expect(truncateOutput("€€", 6)).toBe("€€");
    expect(truncateOutput("€€", 5)).toBe("\n\n...");
    expect(truncateOutput("", 0)).toBe("");
  });

  it("gives as much of the marker as fits a tiny limit, and nothing for none [FR-OUT-04] [T-OUT-01]", () => {
    const text = "y".repeat(500);
    for (let max = 0; max <= TRUNCATION_MARKER.length; max += 1) {
      expect(truncateOutput(text, max)).toBe(TRUNCATION_MARKER.slice(0, max));
    }
    for (const max of [-1, Number.NaN, Number.NEGATIVE_INFINITY]) expect(truncateOutput(text, max)).toBe("");
    expect(truncateOutput(text, Number.POSITIVE_INFINITY)).toBe(text);
  });

  it("splits no character and keeps as much as there is room for, for any text and limit [FR-OUT-04] [T-OUT-01]", () => {
    fc.assert(
      fc.property(anyText, fc.nat(600), (text, max) => {
        const cut = truncateOutput(text, max);
        expect(bytes(cut)).toBeLessThanOrEqual(Math.max(max, 0));
        expect(cut.isWellFormed()).toBe(true);
        if (bytes(text) <= max) {
          expect(cut).toBe(text);
          return;
        }
        if (max <= TRUNCATION_MARKER.length) return;
        const kept = cut.slice(0, -TRUNCATION_MARKER.length);
        expect(text.startsWith(kept)).toBe(true);
        expect(max - bytes(cut)).toBeLessThan(4);
      }),
    );
  });
});

describe("showing the head and the tail of an output", () => {
  const note = (omitted: number) => `\n[${omitted} bytes left out]\n`;

  it("keeps both ends and says exactly how much is missing [FR-OUT-04]", () => {
    const shown = headAndTail(`HEAD${"x".repeat(1_000)}TAIL`, 100, note);
    const omitted = Number(/\[(\d+) bytes/.exec(shown)?.[1]);
    expect(shown.startsWith("HEAD")).toBe(true);
    expect(shown.endsWith("TAIL")).toBe(true);
    expect(bytes(shown) - bytes(note(omitted)) + omitted).toBe(1_008);
  });

  it("stays within the limit and splits no character, for any text [FR-OUT-04]", () => {
    fc.assert(
      fc.property(anyText, fc.nat(400), (text, max) => {
        const shown = headAndTail(text, max, note);
        expect(bytes(shown)).toBeLessThanOrEqual(max);
        expect(shown.isWellFormed()).toBe(true);
        if (bytes(text) <= max) {
          expect(shown).toBe(text);
          return;
        }
        const [head, middle, tail] = shown.split(/(\n\[\d+ bytes left out\]\n)/);
        if (middle === undefined) {
          expect(note(bytes(text)).startsWith(shown)).toBe(true);
          return;
        }
        expect(text.startsWith(head ?? "")).toBe(true);
        expect(text.endsWith(tail ?? "")).toBe(true);
        expect(middle).toBe(note(bytes(text) - bytes(head ?? "") - bytes(tail ?? "")));
      }),
    );
  });

  it("holds the limit even where a note grows as the number shrinks [FR-OUT-04]", () => {
    const shown = headAndTail("x".repeat(500), 100, (omitted) => "!".repeat(520 - omitted));
    expect(bytes(shown)).toBeLessThanOrEqual(100);
  });
});
