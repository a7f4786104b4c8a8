import { describe, expect, it } from "vitest";
import { nearestName, nearestNames } from "./nearest-name.ts";

describe("nearest name", () => {
  it.each([
    ["addre", ["adder", "reader"], "adder"],
    ["grant", ["grants", "tools"], "grants"],
    ["weather", ["weather.forecast", "wether"], "weather.forecast"],
    ["STATE", ["state"], "state"],
    ["zzz", ["adder"], undefined],
    ["a", ["b"], undefined],
    ["", ["x"], undefined],
  ])("of %s among %j is %s", (name, candidates, expected) => {
    expect(nearestName(name, candidates)).toBe(expected);
  });

  it("lists the nearest first, up to three", () => {
    expect(nearestNames("cat", ["bat", "cat", "cot", "car", "dog"])).toEqual(["cat", "bat", "car"]);
  });

  it("takes no time on hostile names", () => {
    const before = process.cpuUsage();
    nearestNames("x".repeat(100_000), ["y".repeat(100_000)]);
    nearestNames(
      "x".repeat(60),
      Array.from({ length: 5_000 }, (_, index) => `${"x".repeat(55)}${index}`),
    );
    // Time of the processor: a busy machine is no reason to fail.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(20_000);
  });
});
