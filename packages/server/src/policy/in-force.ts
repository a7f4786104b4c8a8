import { resolve } from "node:path";
import { type CompiledPolicy, type SrdOptions, srdPolicy } from "@sallyport/engine";
import { strictest } from "@sallyport/engine/host";
import type { Policy, PolicyRequest, PolicyVerdict } from "@sallyport/engine/ports";
import { must } from "../must.ts";
import { loadPolicyFile } from "./load-policy.ts";

/** What this room needs of the configuration. */
export interface PolicyConfig {
  readonly folder: string;
  readonly policy?: { readonly files: readonly string[]; readonly preset?: SrdOptions | undefined };
}

/** The rules files of the configuration, as absolute paths. */
export function policyFilesOf({ folder, policy }: PolicyConfig): string[] {
  return (policy?.files ?? []).map((file) => resolve(folder, file));
}

/** The preset of the configuration, if there is one. */
export function presetOf({ policy }: PolicyConfig): Policy | undefined {
  return policy?.preset && srdPolicy(policy.preset);
}

/** Reads rules files; throws (E3223) for one that is wrong. */
export function loadPolicies(files: readonly string[]): CompiledPolicy[] {
  return files.map((file) => {
    return must(loadPolicyFile(file));
  });
}

/** Decides like all of them together; undefined when there is none, which is to have no opinion. */
export function decideBy(
  policies: readonly Policy[],
): ((request: PolicyRequest) => PolicyVerdict) | undefined {
  if (policies.length === 0) return undefined;
  return (request) => strictest(policies.map((policy) => decideNow(policy, request)));
}

/** Rules files and the preset answer at once; anything that does not has no place in a trial. */
export function decideNow(policy: Policy, request: PolicyRequest): PolicyVerdict {
  const verdict = policy.decide(request);
  if (verdict instanceof Promise) throw new TypeError(`policy ${policy.name} does not answer at once`);
  return verdict;
}
