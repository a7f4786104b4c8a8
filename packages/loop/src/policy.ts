import { createHash } from "node:crypto";
import type { Policy, PolicyRequest, PolicyVerdict } from "@sallyport/engine/ports";
import { canonicalJson } from "@sallyport/protocol";
import { type LoopPolicy, MESSAGES } from "./settings.ts";

/** What the loop's own policy says of a tool. What the tool itself demands (FR-APR-04e) comes on top of it. */
export type LoopVerdict =
  | { kind: "disabled" }
  | { kind: "denylisted" }
  | { kind: "not_allowlisted" }
  | { kind: "ask" }
  | { kind: "allow" };

/** The fixed order of FR-APR-05, without the sandbox, which looks at arguments, and without the tool's own word. */
export function loopVerdict(policy: LoopPolicy, tool: { name: string; sideEffects: boolean }): LoopVerdict {
  const outright = outrightDenial(policy, tool.name);
  if (outright) return outright;
  if (policy.allowlist.includes(tool.name)) return { kind: "allow" };
  if (policy.mode === "deny") return { kind: "not_allowlisted" };
  const asks = policy.mode === "prompt" && policy.promptSideEffects && tool.sideEffects;
  return { kind: asks ? "ask" : "allow" };
}

/** The denials that need no more than a name, so they hold for tools nobody knows too. */
export function outrightDenial(
  policy: LoopPolicy,
  name: string,
): Extract<LoopVerdict, { kind: "disabled" | "denylisted" }> | undefined {
  if (!policy.enabled) return { kind: "disabled" };
  return policy.denylist.includes(name) ? { kind: "denylisted" } : undefined;
}

/** What the model and the person are told of a denial. */
export function denialReason(kind: "disabled" | "denylisted" | "not_allowlisted", name: string): string {
  if (kind === "disabled") return MESSAGES.disabledByPolicy;
  return kind === "denylisted"
    ? `Tool '${name}' is on the denylist`
    : `Tool '${name}' is not on the allowlist, and nothing else may run`;
}

/**
 * The loop's policy as one of the engine's, so that every door keeps to it. `nameOf` gives the name a model knows a
 * tool by; a tool that has none is none of this policy's business.
 */
export function asEnginePolicy(
  policy: () => LoopPolicy,
  nameOf: (toolId: string, operation: string) => string | undefined,
): Policy {
  return {
    name: "tool-loop",
    decide(request) {
      const name = nameOf(request.tool, request.operation);
      const current = policy();
      return {
        ...verdictOf(current, name, request),
        policyVersion: versionOf(current),
        tier: "user",
        cacheMs: 0,
      };
    },
  };
}

type Said = Pick<PolicyVerdict, "outcome" | "reason" | "rules" | "code">;

function verdictOf(
  policy: LoopPolicy,
  name: string | undefined,
  { sideEffects }: Pick<PolicyRequest, "sideEffects">,
): Said {
  if (name === undefined) return { outcome: "allow", reason: "not a tool of the loop", rules: [] };
  const { kind } = loopVerdict(policy, { name, sideEffects: sideEffects !== "none" });
  switch (kind) {
    case "disabled":
      return { outcome: "deny", reason: denialReason(kind, name), rules: [kind], code: "E3954" };
    case "denylisted":
    case "not_allowlisted":
      return { outcome: "deny", reason: denialReason(kind, name), rules: [kind], code: "E3953" };
    case "ask":
      return { outcome: "ask", reason: "the tool has side effects", rules: ["side_effects"] };
    case "allow":
      return { outcome: "allow", reason: "the tool loop's policy allows it", rules: [] };
  }
}

/** Equal policies have equal versions, whatever the order of their lists. */
function versionOf({ enabled, mode, allowlist, denylist, promptSideEffects }: LoopPolicy): string {
  const lists = { allowlist: sortedSet(allowlist), denylist: sortedSet(denylist) };
  const text = canonicalJson({ enabled, mode, promptSideEffects, ...lists });
  return `tool-loop:${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

function sortedSet(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => name.toWellFormed()))].sort();
}
