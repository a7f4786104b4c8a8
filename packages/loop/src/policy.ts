import { createHash } from "node:crypto";
import type { Policy, PolicyVerdict } from "@sallyport/engine/ports";
import { canonicalJson } from "@sallyport/protocol";
import { type LoopPolicy, MESSAGES } from "./settings.ts";

/** Why the loop's own policy lets a tool not run, as the model and the person are told. */
interface LoopDenial {
  kind: "disabled" | "denylisted" | "not_allowlisted";
  code: "E3953" | "E3954";
  reason: string;
}

/** What the loop's own policy says of a tool. What the tool itself demands (FR-APR-04e) comes on top of it. */
type LoopVerdict = { kind: "ask" } | { kind: "allow" } | LoopDenial;

/** The fixed order of FR-APR-05, without the sandbox, which looks at arguments, and without the tool's own word. */
export function loopVerdict(policy: LoopPolicy, tool: { name: string; sideEffects: boolean }): LoopVerdict {
  const { name, sideEffects } = tool;
  const outright = outrightDenial(policy, name);
  if (outright) return outright;
  if (policy.allowlist.includes(name)) return { kind: "allow" };
  if (policy.mode === "deny") {
    const reason = `Tool '${name}' is not on the allowlist, and nothing else may run`;
    return { kind: "not_allowlisted", code: "E3953", reason };
  }
  const asks = policy.mode === "prompt" && policy.promptSideEffects && sideEffects;
  return { kind: asks ? "ask" : "allow" };
}

/** The denials that need no more than a name, so they hold for tools nobody knows too. */
export function outrightDenial({ enabled, denylist }: LoopPolicy, name: string): LoopDenial | undefined {
  if (!enabled) return { kind: "disabled", code: "E3954", reason: MESSAGES.disabledByPolicy };
  if (!denylist.includes(name)) return undefined;
  return { kind: "denylisted", code: "E3953", reason: `Tool '${name}' is on the denylist` };
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
    decide({ tool, operation, sideEffects }) {
      const name = nameOf(tool, operation);
      const current = policy();
      const said =
        name === undefined
          ? allow("not a tool of the loop")
          : asSaid(loopVerdict(current, { name, sideEffects: sideEffects !== "none" }));
      return { ...said, policyVersion: versionOf(current), tier: "user", cacheMs: 0 };
    },
  };
}

type Said = Pick<PolicyVerdict, "outcome" | "reason" | "rules" | "code">;

function asSaid(verdict: LoopVerdict): Said {
  const { kind } = verdict;
  if (kind === "allow") return allow("the tool loop's policy allows it");
  if (kind === "ask") return { outcome: "ask", reason: "the tool has side effects", rules: ["side_effects"] };
  return { outcome: "deny", reason: verdict.reason, rules: [kind], code: verdict.code };
}

function allow(reason: string): Said {
  return { outcome: "allow", reason, rules: [] };
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
