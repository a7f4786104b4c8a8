import type { AdmissionLimits, ToolRule } from "@sallyport/engine";
import { compilePatterns } from "@sallyport/engine/host";
import { type DomainPolicies, defined } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import type { DomainPackage } from "../gateway/read-package.ts";

/** How many calls run at once, and what the operator says about single tools: all that can change without a restart. */
export interface OperatorLimits {
  admission: Partial<AdmissionLimits>;
  toolRules(tool: string): ToolRule | undefined;
}

type Entry = Omit<LoadedConfig["toolLimits"][number], "tools">;

/**
 * Where several entries fit a tool, the strictest of each counts. Of a gateway the policies of its domain count too, and a
 * tool that the domain does not have is switched off (AX-POL-1).
 */
export function operatorLimitsOf(config: LoadedConfig, domain?: DomainPackage): OperatorLimits {
  const own = configuredLimits(config);
  if (!domain) return own;
  const { policies, tools } = domain;
  const ids = new Set(tools.map(({ id }) => id));
  const total = Math.min(config.limits.concurrentCalls, policies.maxInflight);
  return {
    admission: {
      ...own.admission,
      total,
      background: backgroundOf(total),
      queue: policies.maxQueued,
      // Without a file everybody is one agent, and nothing is said about how much of the whole one agent may have.
      ...(config.file === undefined && { perAgent: total }),
      perToolOf: (tool) =>
        Math.min(inflightOf(tool, policies), own.admission.perToolOf?.(tool) ?? Number.POSITIVE_INFINITY),
    },
    toolRules: (tool) => (ids.has(tool) ? own.toolRules(tool) : { enabled: false }),
  };
}

/** A tool that the policies do not list runs once at a time. */
function inflightOf(tool: string, { perToolMaxInflight }: DomainPolicies): number {
  return Object.hasOwn(perToolMaxInflight, tool) ? (perToolMaxInflight[tool] ?? 1) : 1;
}

function configuredLimits({ limits, toolLimits }: LoadedConfig): OperatorLimits {
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
      background: backgroundOf(limits.concurrentCalls),
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

function backgroundOf(total: number): number {
  return Math.max(1, Math.floor(total * BACKGROUND_SHARE));
}

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
