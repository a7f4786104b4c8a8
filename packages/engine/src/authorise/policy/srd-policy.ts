import { isFailure, type JsonObject, SallyportError } from "@sallyport/protocol";
import type { Policy, PolicyVerdict, Tier } from "../../ports/policy.ts";
import { compilePolicy } from "./compile-policy.ts";

/** A policy by lists and a mode (FR-APR-04). */
export interface SrdOptions {
  /** False: nothing runs. */
  enabled: boolean;
  /** `auto`: everything but the denied. `prompt`: ask as `promptSideEffects` says. `deny`: only the allowed. */
  mode: "auto" | "prompt" | "deny";
  /** Tools, or patterns with `*`. In `prompt` mode they run without the policy's question. */
  allowlist: readonly string[];
  /** Always denied, whatever else is said of them. */
  denylist: readonly string[];
  /** In `prompt` mode: ask before every tool with side effects that is not on the allowlist. */
  promptSideEffects: boolean;
  /** `operator` when left out. */
  tier?: Tier;
}

export const DISABLED_MESSAGE = "Tool execution disabled by policy";
const NAME = "preset";

/**
 * The preset in its fixed order (FR-APR-05): disabled, denylist, mode and allowlist. What a tool's own manifest
 * demands of approval comes later and is never waived here, and what the sandbox forbids is forbidden there.
 * Throws (E3223) for lists no rule can have, such as one with an empty name.
 */
export function srdPolicy(options: SrdOptions): Policy {
  const { tier = "operator" } = options;
  if (!options.enabled) return { name: NAME, decide: () => disabled(tier) };
  const policy = compilePolicy(documentOf(options, tier), { name: NAME, examples: "none" });
  if (isFailure(policy)) throw new SallyportError(policy);
  return policy;
}

/** A rule that matches everything could not show what it does not match, so this is not written as one. */
function disabled(tier: Tier): PolicyVerdict {
  const said = { outcome: "deny", reason: DISABLED_MESSAGE, rules: ["disabled"], code: "E3225" } as const;
  return { ...said, rules: [...said.rules], policyVersion: `${NAME}:disabled`, tier };
}

function documentOf({ mode, allowlist, denylist, promptSideEffects }: SrdOptions, tier: Tier): JsonObject {
  const rules: JsonObject[] = [];
  if (denylist.length > 0) {
    rules.push({
      id: "denylist",
      effect: "deny",
      reason: "the tool is on the denylist",
      match: { tools: [...denylist] },
    });
  }
  if (allowlist.length > 0) {
    rules.push({
      id: "allowlist",
      effect: "allow",
      reason: "the tool is on the allowlist",
      match: { tools: [...allowlist] },
    });
  }
  if (mode === "prompt" && promptSideEffects) rules.push(askBeforeSideEffects(allowlist));
  return { version: 1, tier, default: mode === "deny" ? "deny" : "allow", rules };
}

function askBeforeSideEffects(allowlist: readonly string[]): JsonObject {
  return {
    id: "side-effects",
    effect: "ask",
    reason: "the tool has side effects",
    match: { sideEffects: ["state", "external"] },
    ...(allowlist.length > 0 && { unless: { tools: [...allowlist] } }),
  };
}
