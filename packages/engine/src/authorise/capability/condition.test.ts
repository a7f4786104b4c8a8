import { describe, expect, it } from "vitest";
import { type ConditionFacts, readCondition } from "./condition.ts";
import { NOON } from "./fixtures/sample-grants.ts";

function holds(type: string, expression: string, facts: Partial<ConditionFacts> = {}): boolean | string {
  const told = readCondition({ type, expression }).evaluate({
    at: NOON,
    context: {},
    location: {},
    ...facts,
  });
  return told.ok ? told.holds : told.reason;
}

describe("conditions of grants", () => {
  it.each([
    "hour == 12 && minute == 0",
    'weekday == "thu"',
    "day == 1 && month == 1 && year == 2026",
    'date == "2026-01-01"',
    `epoch == ${NOON}`,
    'date >= "2025-12-31" && !(weekday in ["sat", "sun"])',
  ])("TIME knows the moment in UTC: %s [R3-2]", (expression) => {
    expect(holds("TIME", expression)).toBe(true);
  });

  it("CONTEXT and LOCATION see what the request has [R3-2]", () => {
    const context = { agent: "a", level: 3, tags: ["x", "y"], nested: { a: 1 }, list: [null] };
    expect(holds("CONTEXT", 'context.agent == "a" && context.level > 2', { context })).toBe(true);
    expect(holds("CONTEXT", '"y" in context.tags', { context })).toBe(true);
    expect(holds("LOCATION", 'location.country in ["de", "fr"]', { location: { country: "de" } })).toBe(true);
    expect(holds("CONTEXT", "context.nested == 1", { context })).toBe("context.nested is not known");
    expect(holds("CONTEXT", "1 in context.list", { context })).toBe("context.list is not known");
  });

  it.each([
    ["WEATHER", "true", 'the condition type "WEATHER" is not known'],
    ["time", "hour == 1", 'the condition type "time" is not known'],
    ["TIME", 'context.agent == "a"', "context.agent is not known to a TIME condition"],
    ["CONTEXT", "hour == 1", "hour is not known to a CONTEXT condition"],
    ["CONTEXT", "context.a.b == 1", "context.a.b is not known to a CONTEXT condition"],
    ["LOCATION", "location.country == 1 &", 'at character 23: unexpected "&"'],
    ["CONTEXT", "context.__proto__ == 1", "context.__proto__ is not known"],
    ["CONTEXT", "context.user == 1", "context.user is not known"],
    ["TIME", "hour", "a number is neither true nor false"],
    ["TIME", "toString == 1", "toString is not known to a TIME condition"],
  ])("%s: %s never holds, because %s [R3-2]", (type, expression, reason) => {
    expect(holds(type, expression)).toBe(reason);
  });
});
