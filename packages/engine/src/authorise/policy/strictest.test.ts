import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type PolicyVerdict, TIERS } from "../../ports/policy.ts";
import { EFFECTS } from "./rule.ts";
import { strictest } from "./strictest.ts";

const verdict = (change: Partial<PolicyVerdict>): PolicyVerdict => ({
  outcome: "allow",
  reason: "said so",
  rules: [],
  policyVersion: "v",
  tier: "user",
  ...change,
});

describe("the strictest of several verdicts [L3-PRM-2]", () => {
  it("is a deny when there is none at all", () => expect(strictest([]).outcome).toBe("deny"));

  it("joins the rules and versions, and takes the highest tier of those who said so", () => {
    const joined = strictest([
      verdict({ outcome: "allow", tier: "organisation", policyVersion: "a", rules: ["x"] }),
      verdict({ outcome: "ask", tier: "user", policyVersion: "b", rules: ["y"], reason: "first" }),
      verdict({ outcome: "ask", tier: "operator", policyVersion: "c", rules: ["z", "y"] }),
    ]);
    expect(joined).toEqual({
      outcome: "ask",
      reason: "first",
      rules: ["y", "z"],
      policyVersion: "a+b+c",
      tier: "operator",
    });
  });

  it("prefers the words of a rule to those of a default", () => {
    const { reason, code } = strictest([
      verdict({ outcome: "deny", reason: "nothing allows it" }),
      verdict({ outcome: "deny", reason: "a rule", rules: ["r"], code: "E3204" }),
    ]);
    expect({ reason, code }).toEqual({ reason: "a rule", code: "E3204" });
  });

  it("lives no longer than any of them, the outvoted included", () => {
    const lives = [{ outcome: "deny" as const, cacheMs: 5_000 }, { cacheMs: 0 }, {}];
    expect(strictest(lives.map(verdict)).cacheMs).toBe(0);
    expect(strictest([verdict({}), verdict({})])).not.toHaveProperty("cacheMs");
  });

  it("never answers milder than anybody, and does not depend on the order", () => {
    const any = fc.record({
      outcome: fc.constantFrom(...EFFECTS),
      tier: fc.constantFrom(...TIERS),
      rules: fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 2 }),
    });
    fc.assert(
      fc.property(fc.array(any, { minLength: 1, maxLength: 5 }), (some) => {
        const verdicts = some.map(verdict);
        const joined = strictest(verdicts);
        const least = Math.min(...verdicts.map(({ outcome }) => EFFECTS.indexOf(outcome)));
        expect(EFFECTS.indexOf(joined.outcome)).toBe(least);
        const turned = strictest(verdicts.toReversed());
        expect(turned).toMatchObject({ outcome: joined.outcome, tier: joined.tier });
        expect(new Set(turned.rules)).toEqual(new Set(joined.rules));
      }),
    );
  });
});
