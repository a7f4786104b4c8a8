import type { AgentBounds, SandboxLimits } from "@sallyport/engine/ports";
import type { Enforcement, LimitName } from "@sallyport/protocol";
import type { GroupLimits } from "../cgroup/index.ts";

/** What holds a run's limits, besides a cgroup. */
export interface LimitPlan {
  /** Set inside, for each process. */
  rlimits: Record<string, number>;
  /** What the launcher measures from outside, for the whole tree. */
  watch: { memoryBytes?: number; cpuMs?: number; processes: number };
  enforcement: Enforcement;
}

export interface LimitHost {
  /** Limits a cgroup holds for this run. */
  cgroup: ReadonlySet<LimitName>;
  /** How many tasks of others the kernel would count with ours: those of the same user, in the same user namespace. */
  tasksBeside: number;
  /** How much of the file system is private memory. */
  scratch: "tmpfs" | "none";
  /** True when files outside the scratch can be written. */
  writesDisk: boolean;
  hasNetwork: boolean;
}

/** A tree may be over its limit for a moment before the watch sees it; here the kernel itself stops it. */
const SPARE_TASKS = 8;
/** A refused fork tells nobody but the program itself, so the watch gets the time to see the tree grow before that. */
const UNTOLD_SPARE_TASKS = 256;
/** What a runtime such as V8 reserves and does not use; the watch holds what is used. */
const SPARE_DATA_BYTES = 768 * 1024 * 1024;
/** Our own processes inside: backend, init, forwarder. */
const OWN_TASKS = 8;

/** Divides a run's limits among the mechanisms there are, and says which holds which. */
export function limitPlan(limits: SandboxLimits, host: LimitHost): LimitPlan {
  const memoryByGroup = host.cgroup.has("memory");
  return {
    rlimits: rlimits(limits, host),
    watch: {
      processes: limits.processes,
      ...(!memoryByGroup && { memoryBytes: limits.memoryBytes }),
      ...(limits.cpuMs !== undefined && { cpuMs: limits.cpuMs }),
    },
    enforcement: {
      wall: "watch",
      memory: memoryByGroup ? "cgroup" : "watch",
      processes: host.cgroup.has("processes") ? "cgroup" : "watch",
      openFiles: "rlimit",
      fileSize: "rlimit",
      disk: diskEnforcer(host),
      output: "watch",
      connections: host.hasNetwork ? "proxy" : "none",
      ...cpuEnforcement(limits, host),
    },
  };
}

/** What a run's cgroup is asked to hold. */
export function runGroupLimits(limits: SandboxLimits): GroupLimits {
  return {
    memoryBytes: limits.memoryBytes,
    processes: limits.processes + SPARE_TASKS + OWN_TASKS,
    ...(limits.cpuMillicores !== undefined && { cpuMillicores: limits.cpuMillicores }),
  };
}

/** What the group around all runs of an agent is asked to hold. */
export function agentGroupLimits(bounds: AgentBounds): GroupLimits {
  const { memoryBytes, cpuMillicores } = bounds.limits;
  return {
    ...(memoryBytes !== undefined && { memoryBytes }),
    ...(cpuMillicores !== undefined && { cpuMillicores }),
  };
}

function rlimits(limits: SandboxLimits, host: LimitHost): Record<string, number> {
  return {
    core: 0,
    nofile: limits.openFiles,
    fsize: limits.fileBytes,
    // Not the address space: runtimes reserve far more of it than they use.
    ...(!host.cgroup.has("memory") && { data: 2 * limits.memoryBytes + SPARE_DATA_BYTES }),
    ...(limits.cpuMs !== undefined && { cpu: Math.ceil(limits.cpuMs / 1000) + 1 }),
    nproc: host.tasksBeside + limits.processes + UNTOLD_SPARE_TASKS,
  };
}

function diskEnforcer(host: LimitHost): Enforcement["disk"] & string {
  if (host.writesDisk) return "watch";
  return host.scratch === "tmpfs" ? "tmpfs" : "none";
}

/** Time is measured; a share of the processors only a cgroup can give. */
function cpuEnforcement(limits: SandboxLimits, host: LimitHost): Enforcement {
  if (limits.cpuMs !== undefined) return { cpu: "watch" };
  if (limits.cpuMillicores === undefined) return {};
  return { cpu: host.cgroup.has("cpu") ? "cgroup" : "none" };
}
