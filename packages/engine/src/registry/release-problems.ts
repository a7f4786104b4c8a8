import { type OperationManifest, SIDE_EFFECTS, type ToolManifest } from "@sallyport/protocol";
import { satisfies } from "semver";
import { conductOf } from "./conduct.ts";
import { type BreakingChange, breakingChanges } from "./schema-diff.ts";

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
      ...conductProblems([previous, before], [next, after], path),
    ];
  });
}

function outputProblems(before: OperationManifest, after: OperationManifest, path: string): BreakingChange[] {
  if (!before.outputSchema) return [];
  if (!after.outputSchema) return [{ path, reason: "was removed, so callers no longer know what they get" }];
  return located(breakingChanges(before.outputSchema, after.outputSchema, "output"), path);
}

type Side = [ToolManifest, OperationManifest];

function conductProblems(before: Side, after: Side, path: string): BreakingChange[] {
  const old = conductOf(...before);
  const now = conductOf(...after);
  const problems: BreakingChange[] = [];
  const added = now.requiredCapabilities.filter(
    (capability) => !old.requiredCapabilities.includes(capability),
  );
  if (added.length > 0) {
    problems.push({ path: `${path}/requiredCapabilities`, reason: `newly requires ${added.join(", ")}` });
  }
  if (SIDE_EFFECTS.indexOf(now.sideEffects) > SIDE_EFFECTS.indexOf(old.sideEffects)) {
    problems.push({
      path: `${path}/sideEffects`,
      reason: `grew from ${old.sideEffects} to ${now.sideEffects}`,
    });
  }
  if (now.requiresApproval && !old.requiresApproval) {
    problems.push({ path: `${path}/requiresApproval`, reason: "newly requires approval" });
  }
  return problems;
}

function located(changes: BreakingChange[], path: string): BreakingChange[] {
  return changes.map((change) => ({ ...change, path: path + change.path }));
}
