import type { AdmissionLimits, ToolRule } from "@sallyport/engine";
import { compilePatterns } from "@sallyport/engine/host";
import { defined } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";

/** How many calls run at once, and what the operator says about single tools: all that can change without a restart. */
export interface OperatorLimits {
  admission: Partial<AdmissionLimits>;
  toolRules(tool: string): ToolRule | undefined;
}

type Entry = Omit<LoadedConfig["toolLimits"][number], "tools">;

/** Where several entries fit a tool, the strictest of each counts. */
export function operatorLimitsOf({ limits, toolLimits }: LoadedConfig): OperatorLimits {
  const entries = toolLimits.map(({ tools, ...entry }) => ({ fits: compilePatterns(tools), entry }));
  const known = new Map<string, Entry>();
  const entryOf = (tool: string): Entry => {
    const strictest =
      known.get(tool) ?? strictestOf(entries.filter(({ fits }) => fits(tool)).map(({ entry }) => entry));
    known.set(tool, strictest);
    return strictest;
  };
  return {
    admission: {
      total: limits.concurrentCalls,
      perAgent: limits.concurrentCallsPerAgent,
      perTool: limits.concurrentCallsPerTool,
      background: Math.max(1, Math.floor(limits.concurrentCalls * BACKGROUND_SHARE)),
      maxWaitMs: limits.queueWaitSeconds * 1_000,
      perToolOf: (tool) => (entries.length === 0 ? undefined : entryOf(tool).concurrentCalls),
    },
    toolRules: (tool) => {
      if (entries.length === 0) return undefined;
      const { enabled, timeoutMs } = entryOf(tool);
      return defined({ enabled, timeoutMs });
    },
  };
}

/** The rest is kept for callers who wait for their answer. */
const BACKGROUND_SHARE = 0.75;

function strictestOf(entries: readonly Entry[]): Entry {
  const least = (numbers: readonly (number | undefined)[]) => {
    const given = numbers.filter((number) => number !== undefined);
    return given.length > 0 ? Math.min(...given) : undefined;
  };
  return {
    concurrentCalls: least(entries.map(({ concurrentCalls }) => concurrentCalls)),
    timeoutMs: least(entries.map(({ timeoutMs }) => timeoutMs)),
    ...(entries.some(({ enabled }) => enabled === false) && { enabled: false }),
  };
}
