import { SIDE_EFFECTS, type SideEffects } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Policy, PolicyVerdict } from "../../ports/authority.ts";
import { TIERS } from "../../ports/grants.ts";
import { ALLOWED } from "./fixtures/policies.ts";
import { completeCall } from "./partial-call.ts";
import { askAll, type SrdOptions, srdPolicy, strictest } from "./policies.ts";
import { EFFECTS } from "./rules.ts";

const policy = (decide: () => unknown): Policy => ({ name: "p", decide: () => decide() as PolicyVerdict });
const request = completeCall({});
const ask = (...decides: (() => unknown)[]) => askAll(decides.map(policy), request, { timeoutMs: 30 });

function raise(): never {
  throw new Error("the key is hunter2");
}

describe("asking every policy", () => {
  it("answers at once when all of them do", () => {
    const asking = () => ({ ...ALLOWED, outcome: "ask" });
    expect(ask(() => ALLOWED)).toEqual(ALLOWED);
    expect(ask(() => ALLOWED, asking)).toMatchObject({ outcome: "ask" });
    expect(ask()).toMatchObject({ outcome: "deny" });
  });

  it("waits for the slow ones and takes the strictest", async () => {
    const late = async () => ({ ...ALLOWED, outcome: "deny", reason: "late no" });
    const answer = ask(() => ALLOWED, late);
    expect(answer).toBeInstanceOf(Promise);
    expect(await answer).toMatchObject({ outcome: "deny", reason: "late no", policyVersion: "1+1" });
  });

  it.each<[string, () => unknown]>([
    ["throws", () => raise()],
    ["rejects", async () => raise()],
    ["does not answer in time", () => new Promise(() => undefined)],
    ["answers nothing", () => undefined],
    ["answers an unknown outcome", () => ({ ...ALLOWED, outcome: "yes" })],
    ["answers an unknown tier", async () => ({ ...ALLOWED, tier: "king" })],
    ["answers rules that are none", () => ({ ...ALLOWED, rules: [1] })],
    ["answers half a character", () => ({ ...ALLOWED, reason: "\ud800" })],
    ["answers half a character elsewhere", () => ({ ...ALLOWED, unlock: "\ud800" })],
    ["answers a code nobody knows", () => ({ ...ALLOWED, outcome: "deny", code: "E9999" })],
  ])("denies with E3206 when one %s [L3-PRM-2]", async (_what, decide) => {
    const reason = "policy p could not be asked";
    expect(await ask(() => ALLOWED, decide)).toMatchObject({
      outcome: "deny",
      code: "E3206",
      reason,
      cacheMs: 0,
    });
  });

  it("tells the operator why and the caller not", async () => {
    const problems: unknown[] = [];
    const onProblem = (name: string, error: unknown) => problems.push([name, String(error)]);
    const verdict = await askAll([policy(() => raise())], request, { onProblem });
    expect(problems).toEqual([["p", "Error: the key is hunter2"]]);
    expect(JSON.stringify(verdict)).not.toContain("hunter2");
  });

  it("gives up on a policy after half a second when nothing else is said [L3-PRM-2]", async () => {
    const started = performance.now();
    const verdict = await askAll([policy(() => new Promise(() => undefined))], request);
    expect(verdict.code).toBe("E3206");
    expect(performance.now() - started).toBeGreaterThan(450);
  });
});

describe("the strictest of several verdicts [L3-PRM-2]", () => {
  const verdict = (change: Partial<PolicyVerdict>): PolicyVerdict => ({ ...ALLOWED, rules: [], ...change });

  it("joins the rules and versions, and takes the highest tier of those who said so", () => {
    const joined = strictest([
      verdict({ outcome: "allow", tier: "organisation", policyVersion: "a", rules: ["x"] }),
      verdict({ outcome: "ask", tier: "user", policyVersion: "b", rules: ["y"], reason: "first" }),
      verdict({ outcome: "ask", tier: "operator", policyVersion: "c", rules: ["z", "y"] }),
    ]);
    const rules = ["y", "z"];
    expect(joined).toEqual({
      outcome: "ask",
      reason: "first",
      rules,
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

describe("the preset by lists and a mode", () => {
  const open = {
    enabled: true,
    mode: "auto",
    allowlist: [],
    denylist: [],
    promptSideEffects: false,
  } as const;
  const decide = (options: Partial<SrdOptions>, tool: string, sideEffects: SideEffects = "none") =>
    srdPolicy({ ...open, ...options }).decide(completeCall({ tool, sideEffects })) as PolicyVerdict;

  /** The text of FR-APR-04 and FR-APR-05, step by step. */
  function model(options: SrdOptions, tool: string, sideEffects: SideEffects): PolicyVerdict["outcome"] {
    if (!options.enabled) return "deny";
    if (options.denylist.includes(tool)) return "deny";
    const allowed = options.allowlist.includes(tool);
    if (options.mode === "deny" && !allowed) return "deny";
    const asks = options.mode === "prompt" && options.promptSideEffects && sideEffects !== "none";
    return asks && !allowed ? "ask" : "allow";
  }

  it("follows the order of the text for every policy and tool [FR-APR-04] [FR-APR-05]", () => {
    const tool = fc.constantFrom("read", "write", "shell", "mail.send");
    const options = fc.record({
      enabled: fc.boolean(),
      mode: fc.constantFrom("auto", "prompt", "deny"),
      allowlist: fc.array(tool, { maxLength: 3 }),
      denylist: fc.array(tool, { maxLength: 2 }),
      promptSideEffects: fc.boolean(),
    });
    fc.assert(
      fc.property(options, tool, fc.constantFrom(...SIDE_EFFECTS), (given, name, sideEffects) => {
        expect(decide(given, name, sideEffects).outcome).toBe(model(given, name, sideEffects));
      }),
    );
  });

  it("says in the fixed words that nothing runs [FR-APR-04]", () => {
    const reason = "Tool execution disabled by policy";
    expect(decide({ enabled: false }, "read")).toMatchObject({ outcome: "deny", reason, code: "E3225" });
  });

  it("denies a denied tool although it is allowed too, in every mode [FR-APR-04]", () => {
    for (const mode of ["auto", "prompt", "deny"] as const) {
      const verdict = decide({ mode, allowlist: ["shell"], denylist: ["shell"] }, "shell", "external");
      expect(verdict).toMatchObject({ outcome: "deny", rules: ["denylist"], code: "E3225" });
    }
  });

  it("takes patterns in its lists, even one for everything", () => {
    expect(decide({ denylist: ["*"] }, "x").outcome).toBe("deny");
    expect(decide({ denylist: ["db.*"] }, "x").outcome).toBe("allow");
  });

  it("speaks for the tier it is given, and changes its version with its lists", () => {
    const one = decide({ tier: "organisation" }, "x");
    const two = decide({ tier: "organisation", denylist: ["y"] }, "x");
    expect(one.tier).toBe("organisation");
    expect(one.policyVersion).not.toBe(two.policyVersion);
  });

  it("refuses lists that no rule can have", () => {
    expect(() => srdPolicy({ ...open, denylist: [""] })).toThrow(/E3223/);
  });
});
