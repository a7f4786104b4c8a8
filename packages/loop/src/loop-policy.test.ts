import { completeCall } from "@sallyport/engine/host";
import type { PolicyVerdict } from "@sallyport/engine/ports";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asEnginePolicy, loopVerdict } from "./policy.ts";
import { DEFAULT_LOOP_POLICY, type LoopPolicy } from "./settings.ts";

const NAMES = ["read_file", "write_file", "run_command", "fetch"] as const;
const anyPolicy: fc.Arbitrary<LoopPolicy> = fc.record({
  enabled: fc.boolean(),
  mode: fc.constantFrom("auto", "prompt", "deny"),
  allowlist: fc.uniqueArray(fc.constantFrom(...NAMES)),
  denylist: fc.uniqueArray(fc.constantFrom(...NAMES)),
  promptSideEffects: fc.boolean(),
});

/** The rules one after the other, each by itself. */
function byTheText(policy: LoopPolicy, name: string, sideEffects: boolean): string {
  const listed = policy.allowlist.includes(name);
  const rules: [boolean, string][] = [
    [!policy.enabled, "disabled"],
    [policy.denylist.includes(name), "denylisted"],
    [policy.mode === "deny" && !listed, "not_allowlisted"],
    [policy.mode === "prompt" && policy.promptSideEffects && sideEffects && !listed, "ask"],
  ];
  return rules.find(([holds]) => holds)?.[1] ?? "allow";
}

const OUTCOMES: Record<string, Partial<PolicyVerdict>> = {
  disabled: { outcome: "deny", code: "E3954", reason: "Tool execution disabled by policy" },
  denylisted: { outcome: "deny", code: "E3953" },
  not_allowlisted: { outcome: "deny", code: "E3953" },
  ask: { outcome: "ask", tier: "user" },
  allow: { outcome: "allow" },
};

function decide(policy: LoopPolicy, call: { tool: string; sideEffects: "none" | "state" | "external" }) {
  const engines = asEnginePolicy(
    () => policy,
    (tool) => (tool.startsWith("sp.") ? tool.slice(3) : undefined),
  );
  return engines.decide(completeCall(call)) as PolicyVerdict;
}

describe("the loop's policy", () => {
  it("follows the order of the rules for every policy and tool [FR-APR-04] [FR-APR-05]", () => {
    fc.assert(
      fc.property(anyPolicy, fc.constantFrom(...NAMES), fc.boolean(), (policy, name, sideEffects) => {
        expect(loopVerdict(policy, { name, sideEffects }).kind).toBe(byTheText(policy, name, sideEffects));
      }),
    );
  });

  it("denies run_command until somebody takes it off the denylist [NFR-SEC-06]", () => {
    const command = { name: "run_command", sideEffects: true };
    expect(loopVerdict(DEFAULT_LOOP_POLICY, command)).toMatchObject({ kind: "denylisted" });
    expect(loopVerdict({ ...DEFAULT_LOOP_POLICY, denylist: [] }, command)).toEqual({ kind: "ask" });
  });

  it("is the same as one of the engine's policies [FR-APR-04] [FR-APR-05]", () => {
    const effects = fc.constantFrom("none", "state", "external");
    fc.assert(
      fc.property(anyPolicy, fc.constantFrom(...NAMES), effects, (policy, name, sideEffects) => {
        const verdict = decide(policy, { tool: `sp.${name}`, sideEffects });
        expect(verdict).toMatchObject(OUTCOMES[byTheText(policy, name, sideEffects !== "none")] ?? {});
        expect(verdict.cacheMs).toBe(0);
      }),
    );
  });

  it("leaves tools without a name in the loop to other policies [FR-APR-04]", () => {
    const closed = { ...DEFAULT_LOOP_POLICY, enabled: false };
    expect(decide(closed, { tool: "other", sideEffects: "external" }).outcome).toBe("allow");
  });

  it("has a version that changes with what it says, and with nothing else [FR-APR-04]", () => {
    const version = (policy: Partial<LoopPolicy>) =>
      decide({ ...DEFAULT_LOOP_POLICY, ...policy }, { tool: "sp.x", sideEffects: "none" }).policyVersion;
    expect(version({ denylist: ["a", "b"] })).toBe(version({ denylist: ["b", "a", "b"] }));
    expect(version({ denylist: ["a"] })).not.toBe(version({ allowlist: ["a"], denylist: [] }));
    expect(version({ mode: "auto" })).not.toBe(version({ mode: "deny" }));
    expect(version({ denylist: ["\ud800"] })).toMatch(/^tool-loop:[0-9a-f]{16}$/);
  });

  it("is asked anew each time, so a change holds at once [FR-APR-04]", () => {
    const current = { policy: DEFAULT_LOOP_POLICY };
    const engines = asEnginePolicy(
      () => current.policy,
      (tool) => tool,
    );
    const call = completeCall({ tool: "read_file", sideEffects: "none" });
    expect(engines.decide(call)).toMatchObject({ outcome: "allow" });
    current.policy = { ...DEFAULT_LOOP_POLICY, enabled: false };
    expect(engines.decide(call)).toMatchObject({ outcome: "deny", code: "E3954" });
  });
});
