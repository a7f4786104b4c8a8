import type { Controller } from "./layout.ts";

/** What a group holds its processes to. */
export interface GroupLimits {
  memoryBytes?: number;
  processes?: number;
  cpuMillicores?: number;
}

/** A file of a group and what is written into it. */
export interface GroupSetting {
  file: string;
  value: string;
  /** Missing on kernels built without it; the limit then still holds for memory proper. */
  optional?: true;
}

const PERIOD_US = 100_000;

/** What version 1 wants written for one controller. */
export function v1Settings(controller: Controller, limits: GroupLimits): GroupSetting[] {
  const { memoryBytes, processes, cpuMillicores } = limits;
  if (controller === "memory" && memoryBytes !== undefined) {
    const value = String(memoryBytes);
    return [
      { file: "memory.limit_in_bytes", value },
      { file: "memory.memsw.limit_in_bytes", value, optional: true },
    ];
  }
  if (controller === "pids" && processes !== undefined)
    return [{ file: "pids.max", value: String(processes) }];
  if (controller === "cpu" && cpuMillicores !== undefined) {
    return [
      { file: "cpu.cfs_period_us", value: String(PERIOD_US) },
      { file: "cpu.cfs_quota_us", value: String(quotaUs(cpuMillicores)) },
    ];
  }
  return [];
}

/** What version 2 wants written; swap is none, and running out ends the whole group. */
export function v2Settings(limits: GroupLimits): GroupSetting[] {
  const { memoryBytes, processes, cpuMillicores } = limits;
  const memory: GroupSetting[] = [
    { file: "memory.max", value: String(memoryBytes) },
    { file: "memory.swap.max", value: "0", optional: true },
    { file: "memory.oom.group", value: "1", optional: true },
  ];
  return [
    ...(memoryBytes === undefined ? [] : memory),
    ...(processes === undefined ? [] : [{ file: "pids.max", value: String(processes) }]),
    ...(cpuMillicores === undefined
      ? []
      : [{ file: "cpu.max", value: `${quotaUs(cpuMillicores)} ${PERIOD_US}` }]),
  ];
}

/** The kernel takes no quota below a millisecond. */
function quotaUs(cpuMillicores: number): number {
  return Math.max(1000, Math.round((cpuMillicores * PERIOD_US) / 1000));
}
