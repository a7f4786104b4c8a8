import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  emptyRing,
  KEPT_CHARACTERS,
  KEPT_LINES,
  ringLines,
  ringWindow,
  scrolled,
  withChunk,
} from "./output-ring.ts";

const chunks = fc.array(fc.string({ maxLength: 200, unit: fc.constantFrom("a", "b", "\n", "\n") }), {
  maxLength: 20,
});

function filled(count: number) {
  return withChunk(emptyRing(0), Array.from({ length: count }, (_, line) => `${line + 1}\n`).join(""));
}

describe("the output of a running call", () => {
  it("is the last 50 lines of all that came, however it was cut [FR-TUI-03]", () => {
    fc.assert(
      fc.property(chunks, (pieces) => {
        const ring = pieces.reduce(withChunk, emptyRing(0));
        const whole = pieces.join("").split("\n");
        expect(ring.partial).toBe(whole.at(-1));
        expect(ring.total).toBe(whole.length - 1);
        expect(ring.lines).toEqual(whole.slice(0, -1).slice(-KEPT_LINES));
      }),
    );
  });

  it("stays small whatever comes [FR-TUI-03]", () => {
    const long = "x".repeat(1_000_000);
    const ring = [long, long, `${long}\n`.repeat(20)].reduce(withChunk, emptyRing(0));
    expect(ringLines(ring).join("").length).toBeLessThanOrEqual(KEPT_LINES * (KEPT_CHARACTERS + 1));
  });

  it("is followed until the person scrolls up, then stands still [FR-TUI-03]", () => {
    const ring = filled(40);
    expect(ringWindow(ring, 10)).toEqual({ rows: lines(31, 40), below: 0 });
    const up = scrolled(ring, -5, 10);
    expect(ringWindow(up, 10)).toEqual({ rows: lines(26, 35), below: 5 });
    const later = withChunk(up, "41\n42\n");
    expect(ringWindow(later, 10)).toEqual({ rows: lines(26, 35), below: 7 });
  });

  it("is followed again at the end [FR-TUI-03]", () => {
    const up = withChunk(scrolled(filled(40), -5, 10), "41\n");
    const down = scrolled(up, 5, 10);
    expect(down.held).toBeUndefined();
    expect(ringWindow(down, 10)).toEqual({ rows: lines(32, 41), below: 0 });
  });

  it("cannot be scrolled beyond its beginning", () => {
    expect(ringWindow(scrolled(filled(40), -500, 10), 10)).toEqual({ rows: lines(1, 10), below: 30 });
    expect(scrolled(filled(5), -3, 10).held).toBeUndefined();
  });
});

function lines(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
}
