import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { Retirement } from "../ports/tools.ts";
import { calculator } from "./fixtures/manifests.ts";
import { lifecycleAt, nextChange, removeRecord } from "./lifecycle.ts";

const retirement = {
  deprecatedAt: 10,
  sunsetAt: 20,
  removedAt: 30,
  replacement: "2.0.0",
  newestAtDeprecation: "1.0.0",
};

describe("the lifecycle of a version [L3-REG-2]", () => {
  it("follows from its dates", () => {
    expect([9, 10, 19, 20, 29, 30].map((now) => lifecycleAt(retirement, now))).toEqual([
      "active",
      "deprecated",
      "deprecated",
      "sunset",
      "sunset",
      "removed",
    ]);
    expect(lifecycleAt({}, 1e15)).toBe("active");
  });

  it("changes next at the nearest date to come", () => {
    expect([9, 10, 25, 30].map((now) => nextChange(retirement, now))).toEqual([
      10,
      20,
      30,
      Number.POSITIVE_INFINITY,
    ]);
  });
});

describe("removal is blocked [R1-10]", () => {
  const { removedAt: _removed, ...deprecated } = retirement;
  const blockersOf = (version: string, retirement: Retirement, versions: string[], now = 20) => {
    const record = {
      manifest: calculator(version),
      manifestHash: "",
      registeredAt: 0,
      retirement,
      revision: 1,
    };
    const answer = removeRecord(record, versions, { now });
    return isFailure(answer) ? answer.details?.blockers : [];
  };
  const blockers = (versions: string[], changes: Retirement = {}, now = 20) =>
    blockersOf("1.0.0", { ...deprecated, ...changes }, ["1.0.0", ...versions], now);

  it("until it was deprecated", () => {
    expect(blockersOf("1.0.0", {}, ["3.0.0"])).toEqual(["it has not been deprecated"]);
  });

  it("until two minor releases and a newer major have followed, counting neither patches nor prereleases", () => {
    expect(blockers(["1.0.1", "1.0.2", "1.1.0-rc.1"])).toEqual([
      "0 of 2 minor or major releases have followed its deprecation",
      "no newer major version exists",
    ]);
    expect(blockers(["1.1.0", "1.1.5"])).toHaveLength(2);
    expect(blockers(["1.1.0", "1.2.0"])).toEqual(["no newer major version exists"]);
    expect(blockers(["2.0.0"])).toEqual(["1 of 2 minor or major releases have followed its deprecation"]);
    expect(blockers(["1.1.0", "2.0.0"])).toEqual([]);
  });

  it("by releases from before the deprecation not at all", () => {
    expect(blockers(["1.1.0", "2.0.0"], { newestAtDeprecation: "2.0.0" })).toEqual([
      "0 of 2 minor or major releases have followed its deprecation",
    ]);
  });

  it("until the warning days have passed", () => {
    expect(blockers(["1.1.0", "2.0.0"], {}, 19)).toEqual(["its warning period ends in 1 days"]);
  });

  it("without guidance", () => {
    const unguided = { deprecatedAt: 1, sunsetAt: 2 };
    expect(blockersOf("1.0.0", unguided, ["1.1.0", "2.0.0"])).toEqual(["it carries no migration guidance"]);
  });

  it("in 0.x until a minor release, which is its major", () => {
    const zero = { ...deprecated, newestAtDeprecation: "0.1.0" };
    expect(blockersOf("0.1.0", zero, ["0.2.0", "0.3.0"])).toEqual([]);
  });
});
