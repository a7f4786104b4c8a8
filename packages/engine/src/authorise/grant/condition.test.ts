import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ConditionFacts,
  compileExpression,
  ExpressionError,
  MAX_EXPRESSION_CHARS,
  MAX_EXPRESSION_DEPTH,
  readCondition,
  type Value,
} from "./condition.ts";
import { KNOWN, printed } from "./fixtures/arbitrary-expression.ts";
import { NOON } from "./fixtures/sample-grants.ts";

const known = (name: string): Value | undefined => (Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined);

/** Yes, no, or why it cannot be told. */
function outcome(text: string): boolean | string {
  const compiled = compileExpression(text);
  if (compiled instanceof ExpressionError) return `${compiled.position}: ${compiled.message}`;
  return compiled.evaluate(known);
}

describe("the language of conditions", () => {
  it.each<[boolean, string[]]>([
    [
      true,
      ["hour >= 9 && hour < 17", "hour <= 12 && hour >= 12", "-1 < 0.5", "!!true", "(false || true) && true"],
    ],
    [true, ['weekday in ["mon", "thu"]', 'context.env == "prod"', '!(context.env != "prod")']],
    [true, ["!context.on || hour == 12", 'context.env matches "pr*"', '"a\\u0062" == "ab"']],
    [true, ['"2026-01-31" < "2026-02-01"', "[1, 2] == [1, 2]", "[1] != [1, 2]", "true == (1 == 1)"]],
    [false, ["hour>=9&&hour<12", 'weekday in ["mon", "tue"]', "hour in []", "hour < 12 || hour > 12"]],
    [false, ["false || true && false", 'context.env matches "*x*"']],
  ])("%s: %j [R3-2]", (holds, texts) => {
    for (const text of texts) expect(outcome(text), text).toBe(holds);
  });

  it.each([
    ['hour "==" 12', '5: "==" where the end is expected'],
    ['true "&&" true', '5: "&&" where the end is expected'],
    ["hour = 9", '5: unexpected "="'],
    ["hour >=", "7: the end where a value is expected"],
    ["", "0: the end where a value is expected"],
    ["(hour == 1", '10: the end where ")" is expected'],
    ["[1 2] == [1]", '3: "2" where "," or "]" is expected'],
    ["hour == 9 == 9", '10: "==" where the end is expected'],
    ['"never ends', "0: a string without an end"],
    ['"bad \\x escape"', "0: a string with an escape that JSON does not know"],
    ["exit(1)", '4: "(" where the end is expected'],
    ["context.env.constructor(1)", '23: "(" where the end is expected'],
    ["context[0]", '7: "[" where the end is expected'],
    ["in == 1", '0: "in" where a value is expected'],
    ["hour + 1 == 2", '5: unexpected "+"'],
  ])("%s is no expression: %s [R3-2]", (text, problem) => {
    expect(outcome(text)).toBe(problem);
  });

  it.each([
    ["nobody == 1", "nobody is not known"],
    ["true || nobody == 1", "nobody is not known"],
    ['false && hour == "12"', "a number is compared with a string"],
    ["hour", "a number is neither true nor false"],
    ["!hour", "a number is neither true nor false"],
    ["true < false", "a boolean and a boolean have no order"],
    ['hour in "12"', '"in" needs a list, not a string'],
    ['hour in [1, "12"]', "a number is compared with a string"],
    ['hour matches "1*"', '"matches" compares strings, not a number'],
    ["__proto__ == 1", "__proto__ is not known"],
    ["toString == 1", "toString is not known"],
  ])("%s cannot be told: %s [R3-2]", (text, reason) => {
    expect(outcome(text)).toBe(reason);
  });

  it("is bounded in length and depth", () => {
    const nested = (depth: number) => `${"(".repeat(depth)}true${")".repeat(depth)}`;
    expect(outcome(`"${"x".repeat(MAX_EXPRESSION_CHARS - 6)}" == ""`)).toBe(
      "1000: longer than 1000 characters",
    );
    expect(outcome(nested(MAX_EXPRESSION_DEPTH))).toBe(true);
    for (const deep of [nested(MAX_EXPRESSION_DEPTH + 1), `${"!".repeat(MAX_EXPRESSION_DEPTH + 1)}true`])
      expect(outcome(deep)).toMatch(/nested too deeply/);
    expect(outcome(Array(150).fill("true").join("&&"))).toBe(true);
  });

  it("any printed expression means what a direct interpreter says [R3-2]", () => {
    fc.assert(
      fc.property(printed, ({ text, outcome: expected }) => {
        fc.pre(text.length <= MAX_EXPRESSION_CHARS);
        const isTruth = expected !== "cannot be told" && typeof expected.value === "boolean";
        const found = outcome(text);
        if (isTruth) expect(found, text).toBe(expected.value);
        else expect(found, text).not.toMatch(/^\d+: |^$/);
        expect(typeof found === "boolean").toBe(isTruth);
      }),
    );
  });

  it("garbage never throws, and says where it goes wrong", () => {
    const pieces = [
      "hour",
      "&&",
      "||",
      "!",
      "(",
      ")",
      "[",
      "]",
      ",",
      "==",
      "in",
      "1",
      '"a"',
      " ",
      "\\",
      "é",
      "\ud800",
    ];
    const garbage = fc.oneof(
      fc.string({ unit: "binary", maxLength: 60 }),
      fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(garbage, (text) => {
        const compiled = compileExpression(text);
        if (compiled instanceof ExpressionError) expect(compiled.position).toBeLessThanOrEqual(text.length);
        else expect(["boolean", "string"]).toContain(typeof compiled.evaluate(known));
      }),
    );
  });
});

describe("conditions of grants", () => {
  function holds(type: string, expression: string, facts: Partial<ConditionFacts> = {}): boolean | string {
    return readCondition({ type, expression }).evaluate({ at: NOON, context: {}, location: {}, ...facts });
  }

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

  it.each([
    ["CONTEXT", 'context.agent == "a" && context.level > 2', true],
    ["CONTEXT", '"y" in context.tags', true],
    ["LOCATION", 'location.country in ["de", "fr"]', true],
    ["CONTEXT", "context.nested == 1", "context.nested is not known"],
    ["CONTEXT", "1 in context.list", "context.list is not known"],
    ["CONTEXT", "context.__proto__ == 1", "context.__proto__ is not known"],
    ["CONTEXT", "context.user == 1", "context.user is not known"],
    ["CONTEXT", "hour == 1", "hour is not known to a CONTEXT condition"],
    ["CONTEXT", "context.a.b == 1", "context.a.b is not known to a CONTEXT condition"],
    ["LOCATION", "location.country == 1 &", 'at character 23: unexpected "&"'],
    ["TIME", 'context.agent == "a"', "context.agent is not known to a TIME condition"],
    ["TIME", "hour", "a number is neither true nor false"],
    ["TIME", "toString == 1", "toString is not known to a TIME condition"],
    ["WEATHER", "true", 'the condition type "WEATHER" is not known'],
    ["time", "hour == 1", 'the condition type "time" is not known'],
  ])("%s: %s is %s for what the request has [R3-2]", (type, expression, expected) => {
    const context = { agent: "a", level: 3, tags: ["x", "y"], nested: { a: 1 }, list: [null] };
    expect(holds(type, expression, { context, location: { country: "de" } })).toBe(expected);
  });
});
