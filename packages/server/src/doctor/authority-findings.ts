import { isFailure } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { configuredKeys } from "../keys/index.ts";
import { policyFilesOf } from "../policy/in-force.ts";
import { openPolicyFiles } from "../policy/policy-files.ts";
import type { Finding } from "./diagnose.ts";

/** Whether tokens can be checked here. */
export function tokenFinding(config: LoadedConfig): Finding {
  const what = "tokens";
  const keys = configuredKeys(config);
  if (!keys) {
    const detail = "no keys; a call that brings a token is refused";
    if (!config.tokens.required) return { what, verdict: "good", detail };
    return { what, verdict: "problem", detail, advice: "Make keys with: sallyport keys init" };
  }
  if (isFailure(keys)) {
    return { what, verdict: "problem", detail: `${keys.code} ${keys.message}`, advice: keys.advice };
  }
  const need = config.tokens.required ? "every call needs one" : "checked where a call brings one";
  return { what, verdict: "good", detail: `${keys.kids.length} keys; ${need}` };
}

/** Which rules decide, and whether they can be used. */
export function policyFinding(config: LoadedConfig): Finding {
  const what = "policy";
  const rules = openPolicyFiles(policyFilesOf(config));
  if (rules && isFailure(rules)) {
    const places = (rules.issues ?? []).map(({ path, reason }) => `${path} ${reason}`).join("; ");
    return {
      what,
      verdict: "problem",
      detail: `${rules.code} ${rules.message} ${places}`,
      advice: "Run: sallyport policy test",
    };
  }
  const { preset, opa, abac } = config.policy;
  const count = rules?.policies.reduce((sum, policy) => sum + policy.rules.length, 0) ?? 0;
  const parts = [
    ...(rules ? [`${count} rules in ${rules.files.length} files, examples hold`] : []),
    ...(preset ? [`preset ${preset.mode}`] : []),
    ...(opa ? [`OPA at ${opa.endpoint}`] : []),
    ...(abac ? [`ABAC at ${abac.baseUrl}`] : []),
  ];
  return { what, verdict: "good", detail: parts.join("; ") || "none; grants alone decide" };
}
