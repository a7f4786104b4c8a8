import { describe, expect, it } from "vitest";
import { CALLBACK_WAITS_MS, NOTICE_WAITS_MS, waitAfter } from "./backoff.ts";

const exact = { waitsMs: CALLBACK_WAITS_MS, random: () => 0 };

describe("the wait between two tries", () => {
  it("grows with each, and stays at the last", () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 99].map((tries) => waitAfter(tries, exact) / 1_000);
    expect(waits).toEqual([10, 30, 120, 600, 1_800, 3_600, 10_800, 10_800, 10_800]);
    for (const list of [CALLBACK_WAITS_MS, NOTICE_WAITS_MS])
      expect([...list].sort((one, other) => one - other)).toEqual(list);
  });

  it("is scattered a little, never shortened", () => {
    const scattered = { ...exact, random: () => 0.999 };
    expect(waitAfter(1, scattered)).toBeGreaterThan(11_900);
    expect(waitAfter(1, scattered)).toBeLessThanOrEqual(12_000);
    expect(waitAfter(1, scattered, 60_000)).toBeGreaterThanOrEqual(60_000);
  });

  it("is as long as the receiver asks, and not shorter than without being asked", () => {
    expect(waitAfter(1, exact, 60_000)).toBe(60_000);
    expect(waitAfter(3, exact, 1_000)).toBe(120_000);
  });
});
