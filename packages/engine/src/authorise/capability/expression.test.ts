import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { evaluateExpression, type Value } from "./evaluate-expression.ts";
import { MAX_EXPRESSION_CHARS, MAX_EXPRESSION_DEPTH, parseExpression } from "./expression.ts";
import { KNOWN, printed } from "./fixtures/arbitrary-expression.ts";

const known = (name: string): Value | undefined => (Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined);

/** Yes, no, or why it cannot be told. */
function outcome(text: string): boolean | string {
  const parsed = parseExpression(text);
  if (!parsed.ok) return `${parsed.position}: ${parsed.reason}`;
  const told = evaluateExpression(parsed.expression, known);
  return told.ok ? told.holds : told.reason;
}

describe("the language of conditions", () => {
  it.each<[string, boolean]>([
    ["hour >= 9 && hour < 17", true],
    ["hour>=9&&hour<12", false],
    ['weekday in ["mon", "tue"]', false],
    ['weekday in ["mon", "thu"]', true],
    ["hour in []", false],
    ["hour <= 12 && hour >= 12", true],
    ["hour < 12 || hour > 12", false],
    ['context.env == "prod"', true],
    ['!(context.env != "prod")', true],
    ["!context.on || hour == 12", true],
    ["false || true && false", false],
    ["(false || true) && true", true],
    ["!!true", true],
    ['context.env matches "pr*"', true],
    ['context.env matches "*x*"', false],
    ['"a\\u0062" == "ab"', true],
    ["-1 < 0.5", true],
    ['"2026-01-31" < "2026-02-01"', true],
    ["[1, 2] == [1, 2]", true],
    ["[1] != [1, 2]", true],
    ["true == (1 == 1)", true],
  ])("%s is %s [R3-2]", (text, holds) => {
    expect(outcome(text)).toBe(holds);
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
    const long = `"${"x".repeat(MAX_EXPRESSION_CHARS - 6)}" == ""`;
    expect(outcome(long)).toMatch(/^1000: longer than 1000 characters/);
    const nested = (depth: number) => `${"(".repeat(depth)}true${")".repeat(depth)}`;
    expect(outcome(nested(MAX_EXPRESSION_DEPTH))).toBe(true);
    expect(outcome(nested(MAX_EXPRESSION_DEPTH + 1))).toMatch(/nested too deeply/);
    expect(outcome(`${"!".repeat(MAX_EXPRESSION_DEPTH + 1)}true`)).toMatch(/nested too deeply/);
    expect(outcome(Array(150).fill("true").join("&&"))).toBe(true);
  });

  it("any printed expression means what a direct interpreter says [R3-2]", () => {
    fc.assert(
      fc.property(printed, ({ text, outcome: expected }) => {
        fc.pre(text.length <= MAX_EXPRESSION_CHARS);
        const parsed = parseExpression(text);
        if (!parsed.ok) throw new Error(`${text}: ${parsed.reason}`);
        const told = evaluateExpression(parsed.expression, known);
        const isTruth = expected !== "cannot be told" && typeof expected.value === "boolean";
        expect(told.ok).toBe(isTruth);
        if (told.ok && isTruth) expect(told.holds).toBe(expected.value);
      }),
      { numRuns: 3_000 },
    );
  });

  it("garbage never throws, and says where it goes wrong", () => {
    const pieces = fc.constantFrom(
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
    );
    const garbage = fc.oneof(
      fc.string({ unit: "binary", maxLength: 60 }),
      fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(garbage, (text) => {
        const parsed = parseExpression(text);
        if (parsed.ok) expect(evaluateExpression(parsed.expression, known)).toHaveProperty("ok");
        else expect(parsed.position).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: 3_000 },
    );
  });
});
