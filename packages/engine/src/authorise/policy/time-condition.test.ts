import type { JsonObject } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { DOUBT, judged, MET, policyOf, UNMET } from "./fixtures/policies.ts";
import { completeCall } from "./partial-call.ts";

const at = (time: string) => ({ at: Date.parse(time) });
const night = { time: { from: "22:00", to: "06:00" } };

describe("a time condition", () => {
  it.each<[JsonObject, string, typeof MET]>([
    [{ time: { from: "09:00", to: "17:00" } }, "2026-01-07T09:00:00Z", MET],
    [{ time: { from: "09:00", to: "17:00" } }, "2026-01-07T16:59:59Z", MET],
    [{ time: { from: "09:00", to: "17:00" } }, "2026-01-07T17:00:00Z", UNMET],
    [night, "2026-01-07T23:30:00Z", MET],
    [night, "2026-01-07T05:59:00Z", MET],
    [night, "2026-01-07T06:00:00Z", UNMET],
    [{ time: { days: ["sat", "sun"] } }, "2026-01-10T12:00:00Z", MET],
    [{ time: { days: ["sat", "sun"] } }, "2026-01-12T00:00:00Z", UNMET],
    [{ time: { from: "22:00", to: "24:00" } }, "2026-01-07T23:59:00Z", MET],
  ])("%j at %s", (match, time, wanted) => expect(judged(match, at(time))).toEqual(wanted));

  it("lets a night belong to the day on which it begins", () => {
    const fridayNight = { time: { from: "22:00", to: "06:00", days: ["fri"] } };
    expect(judged(fridayNight, at("2026-01-09T23:00:00Z"))).toEqual(MET);
    expect(judged(fridayNight, at("2026-01-10T05:00:00Z"))).toEqual(MET);
    expect(judged(fridayNight, at("2026-01-09T05:00:00Z"))).toEqual(UNMET);
  });

  it("reads the clock of its zone, summer time included", () => {
    const morning = { time: { from: "09:00", to: "10:00", zone: "Europe/Berlin" } };
    expect(judged(morning, at("2026-01-07T08:30:00Z"))).toEqual(MET);
    expect(judged(morning, at("2026-07-07T08:30:00Z"))).toEqual(UNMET);
    expect(judged(morning, at("2026-07-07T07:30:00Z"))).toEqual(MET);
  });

  it("is in doubt about a time that is none", () => {
    expect(judged(night, { at: Number.NaN })).toEqual(DOUBT);
  });

  it("keeps the verdicts it can change from being remembered, and only those [L3-PRM-3]", () => {
    const policy = policyOf([
      { id: "night", effect: "deny", match: { tools: ["a"], ...night } },
      { id: "b", effect: "allow", match: { tools: ["b"] } },
    ]);
    expect(policy.decide(completeCall({ tool: "a" })).cacheMs).toBe(0);
    expect(policy.decide(completeCall({ tool: "b" })).cacheMs).toBeUndefined();
  });
});
