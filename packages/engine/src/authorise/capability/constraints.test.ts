import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { ConstraintFacts } from "./constraint.ts";
import { looserThan, readConstraint } from "./constraints.ts";
import { UseTally } from "./use-tally.ts";

const MINUTE = 60_000;

function refuse(type: string, value: JsonValue, facts: Partial<ConstraintFacts> = {}) {
  return readConstraint({ type, value }).refuse({ at: 0, calls: 0, newestUse: () => undefined, ...facts });
}

describe("constraints of grants", () => {
  it.each<[string, JsonValue, string]>([
    ["phase_of_moon", 1, 'the constraint type "phase_of_moon" is not known'],
    ["toString", 1, 'the constraint type "toString" is not known'],
    ["rate_limit", 5, "rate_limit needs max"],
    ["rate_limit", { max: 0, window: 1 }, "rate_limit needs max"],
    ["rate_limit", { max: 1.5, window: 1 }, "rate_limit needs max"],
    ["rate_limit", { max: 10_001, window: 1 }, "rate_limit needs max"],
    ["rate_limit", { max: 1 }, "rate_limit needs window"],
    ["max_uses", "3", "max_uses needs max"],
    ["max_file_size", -1, "max_file_size needs a number of bytes"],
    ["max_file_size", { bytes: "1" }, "max_file_size needs a number of bytes"],
    ["allowed_hosts", [], "allowed_hosts needs a list"],
    ["allowed_hosts", "a.com", "allowed_hosts needs a list"],
    ["allowed_paths", ["/a", 1], "allowed_paths needs a list"],
  ])("%s %j refuses everything: %s [R3-2]", (type, value, reason) => {
    expect(refuse(type, value)?.reason).toContain(reason);
    expect(readConstraint({ type, value }).problem).toContain(reason);
  });

  it("rate_limit says how long to wait [R3-2]", () => {
    const newestUse = (nth: number) => [50, 40, 10][nth - 1];
    const limit = { max: 3, window: 100 };
    expect(refuse("rate_limit", limit, { at: 60, newestUse })).toMatchObject({ retryAfterMs: 50 });
    expect(refuse("rate_limit", limit, { at: 110, newestUse })).toBeUndefined();
    expect(refuse("rate_limit", { max: 4, window: 100 }, { at: 60, newestUse })).toBeUndefined();
  });

  it("max_uses counts calls; a call that runs is one already [R3-2]", () => {
    expect(refuse("max_uses", { max: 2 }, { calls: 1 })).toBeUndefined();
    expect(refuse("max_uses", 2, { calls: 2 })?.reason).toBe("all 2 uses are spent");
    expect(refuse("max_uses", 2, { calls: 2, use: {} })).toBeUndefined();
  });

  it("max_file_size, allowed_hosts and allowed_paths look at the use alone [R3-2]", () => {
    expect(refuse("max_file_size", 10)).toBeUndefined();
    expect(refuse("max_file_size", { bytes: 10 }, { use: { bytes: 10 } })).toBeUndefined();
    expect(refuse("max_file_size", 10, { use: { bytes: 11 } })?.reason).toBe("11 bytes are more than 10");
    expect(refuse("max_file_size", 10, { use: {} })?.reason).toBe("the size of the file is not told");
    const hosts = ["*.Example.com"];
    expect(refuse("allowed_hosts", hosts)).toBeUndefined();
    expect(
      refuse("allowed_hosts", hosts, { use: { resource: "https://API.example.com/x" } }),
    ).toBeUndefined();
    expect(refuse("allowed_hosts", hosts, { use: { resource: "example.com.evil.org" } })?.reason).toContain(
      "not among",
    );
    expect(refuse("allowed_hosts", hosts, { use: {} })?.reason).toBe("the host is not told");
    expect(refuse("allowed_paths", ["/data"])).toBeUndefined();
    expect(refuse("allowed_paths", ["/data"], { use: { resource: "/data/x" } })).toBeUndefined();
    expect(refuse("allowed_paths", ["/data"], { use: { resource: "/data/../x" } })?.reason).toContain(
      "none of",
    );
    expect(refuse("allowed_paths", ["/data"], { use: {} })?.reason).toBe("the path is not told");
  });

  it.each<[string, JsonValue, JsonValue, boolean]>([
    ["rate_limit", { max: 5, window: MINUTE }, { max: 5, window: MINUTE }, true],
    ["rate_limit", { max: 4, window: 2 * MINUTE }, { max: 5, window: MINUTE }, true],
    ["rate_limit", { max: 6, window: 2 * MINUTE }, { max: 5, window: MINUTE }, false],
    ["rate_limit", { max: 1, window: 1 }, { max: 5, window: MINUTE }, false],
    ["max_uses", 3, { max: 3 }, true],
    ["max_uses", 4, 3, false],
    ["max_file_size", 9, { bytes: 10 }, true],
    ["max_file_size", 11, 10, false],
    ["allowed_hosts", ["api.a.com"], ["*.a.com", "b.com"], true],
    ["allowed_hosts", ["*.com"], ["*.a.com"], false],
    ["allowed_paths", ["/data/x"], ["/data"], true],
    ["allowed_paths", ["/"], ["/data"], false],
    ["unknown", 1, 1, false],
    ["max_uses", "x", 3, false],
  ])("%s: %j is as tight as %j: %s [R3-3]", (type, inner, outer, tight) => {
    const loose = looserThan(
      [readConstraint({ type, value: inner })],
      [readConstraint({ type, value: outer })],
    );
    expect(loose === undefined).toBe(tight);
  });

  it("a constraint that is left out is looser, one more is tighter [R3-3]", () => {
    const outer = readConstraint({ type: "max_uses", value: 3 });
    expect(looserThan([], [outer])).toBe(outer);
    expect(looserThan([outer, readConstraint({ type: "max_file_size", value: 1 })], [outer])).toBeUndefined();
  });
});

describe("the tally of uses", () => {
  it("a call is one use, and the first use within it is that one", () => {
    const tally = new UseTally(10);
    tally.begin("a", 1);
    tally.begin("a", 2);
    expect([tally.calls, tally.newestUse(1), tally.newestUse(2)]).toEqual([1, 1, undefined]);
    tally.use("a", 3);
    expect(tally.newestUse(2)).toBeUndefined();
    tally.use("a", 4);
    expect([tally.newestUse(1), tally.newestUse(2), tally.newestUse(3)]).toEqual([4, 1, undefined]);
    tally.use("never begun", 5);
    expect(tally.newestUse(1)).toBe(5);
    tally.begin("a", 6);
    expect([tally.calls, tally.newestUse(1)]).toEqual([1, 6]);
  });

  it("remembers no more than it was told to, and forgets calls in their order", () => {
    const tally = new UseTally(2);
    for (let call = 0; call < 300; call += 1) tally.begin(`call-${call}`, call);
    expect([tally.calls, tally.newestUse(2), tally.newestUse(3)]).toEqual([300, 298, undefined]);
    expect([tally.isCounted("call-0"), tally.isCounted("call-299")]).toEqual([false, true]);
  });
});
