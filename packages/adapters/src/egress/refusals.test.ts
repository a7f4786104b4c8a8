import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { exhausted, forbidden, malformed, unreached } from "./denial.ts";
import { readTarget } from "./destination.ts";
import { type Refusal, Refusals } from "./refusals.ts";

const to = (target: string) => readTarget(target);

describe("what is remembered of refusals [L3-EXE-1]", () => {
  it("counts the same refusal once more, and tells each", () => {
    const told: Refusal[] = [];
    const refusals = new Refusals((refusal) => told.push(refusal));
    for (let i = 0; i < 3; i += 1) refusals.record(forbidden(to("a.example:443"), "no", "ask"));
    refusals.record(exhausted(to("a.example:443"), "too many"));
    expect(refusals.list()).toEqual([
      { host: "a.example", port: 443, why: "no", code: "E3104", times: 3 },
      { host: "a.example", port: 443, why: "too many", code: "E3102", times: 1 },
    ]);
    expect(told).toHaveLength(4);
  });

  it("does not count broken requests and failed networks", () => {
    const refusals = new Refusals();
    const destination = to("a.example:443");
    refusals.record(malformed("what?"));
    if (destination) refusals.record(unreached(destination, "E3304", { message: "gone" }));
    expect(refusals.list()).toEqual([]);
  });

  it("is bounded, and counts the rest together", () => {
    const refusals = new Refusals();
    for (let i = 0; i < 10_000; i += 1) refusals.record(forbidden(to(`h${i}.example:443`), "no", "ask"));
    const list = refusals.list();
    expect(list).toHaveLength(64);
    expect(list.at(-1)).toMatchObject({ host: "", times: 10_000 - 63 });
  });

  it("survives a listener that throws, and does not hide it", async () => {
    const refusals = new Refusals(() => {
      throw new Error("the listener's fault");
    });
    const warned = once(process, "warning");
    refusals.record(forbidden(to("a.example:443"), "no", "ask"));
    expect(refusals.list()).toHaveLength(1);
    expect(await warned).toMatchObject([{ message: "the listener's fault" }]);
  });
});
