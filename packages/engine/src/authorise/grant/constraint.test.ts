import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { type ConstraintFacts, looserThan, readConstraint } from "./constraint.ts";
import { UseTally } from "./grant-use.ts";

const MINUTE = 60_000;

function refuse(type: string, value: JsonValue, facts: Partial<ConstraintFacts> = {}) {
  return readConstraint({ type, value }).refuse({ at: 0, calls: 0, newestUse: () => undefined, ...facts });
}

describe("constraints of grants", () => {
  it.each<[string, JsonValue[], string]>([
    ["unheard_of", [1], 'the constraint type "unheard_of" is not known'],
    ["toString", [1], 'the constraint type "toString" is not known'],
    [
      "rate_limit",
      [5, { max: 0, window: 1 }, { max: 1.5, window: 1 }, { max: 10_001, window: 1 }],
      "needs max",
    ],
    ["rate_limit", [{ max: 1 }], "rate_limit needs window"],
    ["max_uses", ["3"], "max_uses needs max"],
    ["max_file_size", [-1, { bytes: "1" }], "max_file_size needs a number of bytes"],
    ["allowed_hosts", [[], "a.com"], "allowed_hosts needs a list"],
    ["allowed_paths", [["/a", 1]], "allowed_paths needs a list"],
  ])("%s with any of %j refuses everything: %s [R3-2]", (type, values, reason) => {
    for (const value of values) {
      expect(refuse(type, value)?.reason).toContain(reason);
      expect(readConstraint({ type, value }).problem).toContain(reason);
    }
  });

  it("rate_limit says when it can be used again [R3-2]", () => {
    const newestUse = (nth: number) => [50, 40, 10][nth - 1];
    const limit = { max: 3, window: 100 };
    expect(refuse("rate_limit", limit, { at: 60, newestUse })).toMatchObject({ freeAt: 110 });
    expect(refuse("rate_limit", limit, { at: 110, newestUse })).toBeUndefined();
    expect(refuse("rate_limit", { max: 4, window: 100 }, { at: 60, newestUse })).toBeUndefined();
  });

  it("max_uses counts calls; a call that runs is one already [R3-2]", () => {
    expect(refuse("max_uses", { max: 2 }, { calls: 1 })).toBeUndefined();
    expect(refuse("max_uses", 2, { calls: 2 })?.reason).toBe("all 2 uses are spent");
    expect(refuse("max_uses", 2, { calls: 2, use: {} })).toBeUndefined();
  });

  const NOT_ALLOWED = "the host example.com.evil.org is not among those allowed";
  it.each<[string, JsonValue, ConstraintFacts["use"], string | undefined]>([
    ["max_file_size", 10, undefined, undefined],
    ["max_file_size", { bytes: 10 }, { bytes: 10 }, undefined],
    ["max_file_size", 10, { bytes: 11 }, "11 bytes are more than 10"],
    ["max_file_size", 10, {}, "the size of the file is not told"],
    ["allowed_hosts", ["*.Example.com"], undefined, undefined],
    ["allowed_hosts", ["*.Example.com"], { resource: "https://API.example.com/x" }, undefined],
    ["allowed_hosts", ["*.Example.com"], { resource: "example.com.evil.org" }, NOT_ALLOWED],
    ["allowed_hosts", ["*.Example.com"], {}, "the host is not told"],
    ["allowed_paths", ["/data"], undefined, undefined],
    ["allowed_paths", ["/data"], { resource: "/data/x" }, undefined],
    ["allowed_paths", ["/data"], { resource: "/data/../x" }, "the path is in none of the folders allowed"],
    ["allowed_paths", ["/data"], {}, "the path is not told"],
  ])("%s %j looks at the use alone, %j: %s [R3-2]", (type, value, use, reason) => {
    expect(refuse(type, value, use && { use })?.reason).toBe(reason);
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
    const [own, bound] = [inner, outer].map((value) => readConstraint({ type, value }));
    if (!own || !bound) throw new Error("two constraints were read");
    expect(looserThan([own], [bound])).toBe(tight ? undefined : bound);
    expect(looserThan([], [bound])).toBe(bound);
    expect(
      looserThan([own, readConstraint({ type: "max_file_size", value: 1 })], [bound]) === undefined,
    ).toBe(tight || type === "max_file_size");
  });
});

describe("the tally of uses", () => {
  it("a call is one use, and the first use within it is that one", () => {
    const tally = new UseTally(10);
    const newest = () => [1, 2, 3].map((nth) => tally.newestUse(nth));
    tally.begin("a", 1);
    tally.begin("a", 2);
    expect([tally.calls, ...newest()]).toEqual([1, 1, undefined, undefined]);
    tally.use("a", 3);
    expect(newest()).toEqual([1, undefined, undefined]);
    tally.use("a", 4);
    expect(newest()).toEqual([4, 1, undefined]);
    tally.use("never begun", 5);
    expect(newest()).toEqual([5, 4, 1]);
    tally.begin("a", 6);
    expect([tally.calls, ...newest()]).toEqual([1, 6, 5, 4]);
    tally.release("a");
    expect([tally.calls, ...newest()]).toEqual([0, 5, 4, 1]);
  });

  it("remembers no more than it was told to, and forgets calls in their order", () => {
    const tally = new UseTally(2);
    for (let call = 0; call < 300; call += 1) tally.begin(`call-${call}`, call);
    expect([tally.calls, tally.newestUse(2), tally.newestUse(3)]).toEqual([300, 298, undefined]);
    expect([tally.isCounted("call-0"), tally.isCounted("call-299")]).toEqual([false, true]);
  });
});
