import { describe, expect, it } from "vitest";
import { VersionRanges } from "./version-ranges.ts";

describe("version ranges", () => {
  it("hold what SemVer says, also when asked again and about much", () => {
    const ranges = new VersionRanges();
    for (let round = 0; round < 2; round += 1) {
      expect(ranges.holds("^2.0.0", "2.9.0")).toBe(true);
      expect(ranges.holds("^2.0.0", "3.0.0")).toBe(false);
      expect(ranges.holds("*", "1.0.0-rc.1")).toBe(false);
      expect(ranges.holds("nonsense", "1.0.0")).toBe(false);
      for (let index = 0; index < 1_500; index += 1) ranges.holds(`^${index}.0.0`, `${index}.1.${index}`);
      for (let index = 0; index < 150; index += 1) expect(ranges.holds("2", `2.0.${index}`)).toBe(true);
    }
    expect(["", " ", "latest", "1.x", "*"].map((text) => ranges.isRange(text))).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
  });
});
