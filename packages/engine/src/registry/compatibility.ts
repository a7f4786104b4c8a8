import {
  canonicalJson,
  isJsonObject,
  type JsonSchema,
  type JsonValue,
  type OperationManifest,
  SIDE_EFFECTS,
  type ToolManifest,
} from "@sallyport/protocol";
import { satisfies } from "semver";
import type { BreakingChange } from "./schema-rules.ts";
import { SubsetProof } from "./schema-subset.ts";
import { traitsOf } from "./versions.ts";

/**
 * What a release breaks for callers of an earlier one. Empty when the caret range of the earlier version does not
 * reach the release (a new major, or a new minor of 0.x): then it may break anything.
 */
export function releaseProblems(previous: ToolManifest, next: ToolManifest): BreakingChange[] {
  if (!satisfies(next.version, `^${previous.version}`)) return [];
  return Object.entries(previous.operations).flatMap(([name, before]) => {
    const path = `/operations/${name}`;
    const after = Object.hasOwn(next.operations, name) ? next.operations[name] : undefined;
    if (!after) return [{ path, reason: "was removed" }];
    return [
      ...located(breakingChanges(before.inputSchema, after.inputSchema, "input"), `${path}/inputSchema`),
      ...outputProblems(before, after, `${path}/outputSchema`),
      ...traitProblems([previous, before], [next, after], path),
    ];
  });
}

function outputProblems(before: OperationManifest, after: OperationManifest, path: string): BreakingChange[] {
  if (!before.outputSchema) return [];
  if (!after.outputSchema) return [{ path, reason: "was removed, so callers no longer know what they get" }];
  return located(breakingChanges(before.outputSchema, after.outputSchema, "output"), path);
}

type Side = [ToolManifest, OperationManifest];

function traitProblems(before: Side, after: Side, path: string): BreakingChange[] {
  const old = traitsOf(...before);
  const now = traitsOf(...after);
  const problems: BreakingChange[] = [];
  const added = now.requiredCapabilities.filter((each) => !old.requiredCapabilities.includes(each));
  if (added.length > 0) {
    problems.push({ path: `${path}/requiredCapabilities`, reason: `newly requires ${added.join(", ")}` });
  }
  if (SIDE_EFFECTS.indexOf(now.sideEffects) > SIDE_EFFECTS.indexOf(old.sideEffects)) {
    const reason = `grew from ${old.sideEffects} to ${now.sideEffects}`;
    problems.push({ path: `${path}/sideEffects`, reason });
  }
  if (now.requiresApproval && !old.requiresApproval) {
    problems.push({ path: `${path}/requiresApproval`, reason: "newly requires approval" });
  }
  return problems;
}

function located(changes: BreakingChange[], path: string): BreakingChange[] {
  return changes.map((change) => ({ ...change, path: path + change.path }));
}

/**
 * What a newer schema breaks. An input schema must accept everything the older one did; an output schema must
 * promise everything the older one did. What cannot be proved compatible is reported: a doubt is a no.
 * Expects schemas that a compiler accepted; never throws for those and ends for recursive ones too.
 */
export function breakingChanges(
  older: JsonSchema,
  newer: JsonSchema,
  side: "input" | "output",
): BreakingChange[] {
  if (refersByUri(older) || refersByUri(newer)) {
    const reason =
      "cannot be compared, because it refers to schemas by URI; only an equal schema is compatible";
    return canonicalJson(older) === canonicalJson(newer) ? [] : [{ path: "", reason }];
  }
  const [narrow, wide] = side === "input" ? [older, newer] : [newer, older];
  return new SubsetProof(side).run(narrow, wide);
}

/** True where references need URIs to be resolved: the proof resolves them inside one document only. */
function refersByUri(value: JsonValue, isRoot = true): boolean {
  if (!isJsonObject(value)) return Array.isArray(value) && value.some((item) => refersByUri(item, false));
  const references = [value.$ref, value.$dynamicRef];
  if (references.some((text) => typeof text === "string" && !text.startsWith("#"))) return true;
  if (!isRoot && typeof value.$id === "string") return true;
  return Object.values(value).some((member) => refersByUri(member, false));
}
