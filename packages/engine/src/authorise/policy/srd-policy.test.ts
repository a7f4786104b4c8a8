import { SIDE_EFFECTS, type SideEffects } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PolicyVerdict } from "../../ports/policy.ts";
import { completeCall } from "./partial-call.ts";
import { type SrdOptions, srdPolicy } from "./srd-policy.ts";

const decide = (options: SrdOptions, call: { tool: string; sideEffects: SideEffects }) =>
  srdPolicy(options).decide(completeCall(call)) as PolicyVerdict;

const OPEN: SrdOptions = {
  enabled: true,
  mode: "auto",
  allowlist: [],
  denylist: [],
  promptSideEffects: false,
};

/** The text of FR-APR-04 and FR-APR-05, step by step. */
function model(options: SrdOptions, tool: string, sideEffects: SideEffects): PolicyVerdict["outcome"] {
  if (!options.enabled) return "deny";
  if (options.denylist.includes(tool)) return "deny";
  const allowed = options.allowlist.includes(tool);
  if (options.mode === "deny" && !allowed) return "deny";
  const asks = options.mode === "prompt" && options.promptSideEffects && sideEffects !== "none";
  return asks && !allowed ? "ask" : "allow";
}

describe("the preset by lists and a mode", () => {
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
      fc.property(options, tool, fc.constantFrom(...SIDE_EFFECTS), (policy, name, sideEffects) => {
        expect(decide(policy, { tool: name, sideEffects }).outcome).toBe(model(policy, name, sideEffects));
      }),
      { numRuns: 1_000 },
    );
  });

  it("says in the fixed words that nothing runs [FR-APR-04]", () => {
    const verdict = decide({ ...OPEN, enabled: false }, { tool: "read", sideEffects: "none" });
    expect(verdict).toMatchObject({
      outcome: "deny",
      reason: "Tool execution disabled by policy",
      code: "E3225",
    });
  });

  it("denies a denied tool although it is allowed too, in every mode [FR-APR-04]", () => {
    for (const mode of ["auto", "prompt", "deny"] as const) {
      const lists = { allowlist: ["shell"], denylist: ["shell"] };
      const verdict = decide({ ...OPEN, mode, ...lists }, { tool: "shell", sideEffects: "external" });
      expect(verdict).toMatchObject({ outcome: "deny", rules: ["denylist"], code: "E3225" });
    }
  });

  it("takes patterns in its lists, even one for everything", () => {
    expect(decide({ ...OPEN, denylist: ["*"] }, { tool: "x", sideEffects: "none" }).outcome).toBe("deny");
    expect(decide({ ...OPEN, denylist: ["db.*"] }, { tool: "x", sideEffects: "none" }).outcome).toBe("allow");
  });

  it("speaks for the tier it is given, and changes its version with its lists", () => {
    const one = decide({ ...OPEN, tier: "organisation" }, { tool: "x", sideEffects: "none" });
    const two = decide(
      { ...OPEN, tier: "organisation", denylist: ["y"] },
      { tool: "x", sideEffects: "none" },
    );
    expect(one.tier).toBe("organisation");
    expect(one.policyVersion).not.toBe(two.policyVersion);
  });

  it("refuses lists that no rule can have", () => {
    expect(() => srdPolicy({ ...OPEN, denylist: [""] })).toThrow(/E3223/);
  });
});
