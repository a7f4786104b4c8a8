import { isDeepStrictEqual } from "node:util";
import { configKeys } from "../config/config-keys.ts";
import type { LoadedConfig } from "../config/load.ts";
import { valueAt } from "../config/overrides.ts";
import { propertiesOf } from "../config/schema-tree.ts";

/** What differs between two configurations. */
export interface ChangedKeys {
  /** Comes into force now. */
  applied: string[];
  /** Counts from the next start. */
  needsRestart: string[];
}

/** Compares key by key; a list or a part with names of one's own counts as one. */
export function changedKeys(before: LoadedConfig, after: LoadedConfig): ChangedKeys {
  const changed = configKeys().filter(({ path, schema }) => {
    const isPart = propertiesOf(schema).length > 0;
    return path && !isPart && !isDeepStrictEqual(valueAt(before, path), valueAt(after, path));
  });
  const names = (reloaded: boolean) =>
    changed.filter((key) => key.reloaded === reloaded).map(({ key }) => key);
  // A flag of the command may stand for a key, and a new file may be another place.
  const moved = before.stateFolder !== after.stateFolder && !changed.some(({ key }) => key === "state");
  return { applied: names(true), needsRestart: [...names(false), ...(moved ? ["state"] : [])] };
}

/** What is in force after a reload: the new word where it can be applied, the old one elsewhere. */
export function inForce(before: LoadedConfig, after: LoadedConfig): LoadedConfig {
  const { concurrentCalls, concurrentCallsPerAgent, concurrentCallsPerTool, queueWaitSeconds } = after.limits;
  const { domain, tools, grants, agents, policy, toolLimits } = after;
  const limits = {
    ...before.limits,
    concurrentCalls,
    concurrentCallsPerAgent,
    concurrentCallsPerTool,
    queueWaitSeconds,
  };
  return Object.freeze({
    ...before,
    ...{ domain, tools, grants, agents, policy, toolLimits },
    limits: Object.freeze(limits),
    log: Object.freeze({ ...before.log, level: after.log.level }),
  });
}
