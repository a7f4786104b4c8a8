import { expect, it } from "vitest";
import type { Decision } from "../ports/authority.ts";
import { TimelineLog } from "./timeline.ts";

const DECISION: Decision = {
  outcome: "allow",
  reason: "r".repeat(500),
  rules: Array.from({ length: 40 }, () => "x".repeat(500)),
  policyVersion: "v".repeat(500),
  capabilities: [],
  missing: [],
};

it("a timeline leaves out what took no time, and says when an attempt waited for its turn", () => {
  let now = 5;
  const at = (ms: number) => {
    now += ms;
  };
  const first = new TimelineLog(() => now, { attempt: 1 });
  at(0.05);
  first.reached("resolve", 1);
  at(12.34);
  first.reached("execute", 1);
  at(50);
  const second = new TimelineLog(() => now, { attempt: 2, previous: first });
  at(1);
  second.reached("execute", 2);
  expect(second.get().stages).toEqual([
    { stage: "execute", attempt: 1, ms: 12.3 },
    { stage: "wait", attempt: 2, ms: 50 },
    { stage: "execute", attempt: 2, ms: 1 },
  ]);
});

it("a timeline has a bound, however often a call is tried and whatever an authority says", () => {
  let now = 0;
  const log = new TimelineLog(() => (now += 1), { attempt: 1 });
  for (let n = 0; n < 1_000; n += 1) {
    log.reached("execute", n);
    log.decided(DECISION, n);
  }
  const { stages, decisions } = log.get();
  expect([stages.length, decisions.length, decisions[0]?.rules.length]).toEqual([64, 8, 16]);
  expect(JSON.stringify(log.get()).length).toBeLessThan(48_000);
});
