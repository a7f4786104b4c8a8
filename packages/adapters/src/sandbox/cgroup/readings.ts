import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Controller } from "./layout.ts";

/** What a group's files say after a run; a number that the kernel does not give is 0. */
export interface GroupReadings {
  memoryPeakBytes: number;
  /** How many processes were ended because memory ran out. */
  outOfMemory: number;
  /** How often a process could not be made. */
  processesRefused: number;
  cpuMs: number;
}

/** Reads version 1 groups, one folder per controller. */
export function readV1(folders: Partial<Record<Controller, string>>): GroupReadings {
  const [peak, oom, pids, cpu] = [
    text(folders.memory, "memory.max_usage_in_bytes"),
    text(folders.memory, "memory.oom_control"),
    text(folders.pids, "pids.events"),
    text(folders.cpuacct, "cpuacct.usage"),
  ];
  return {
    memoryPeakBytes: wholeNumber(peak),
    outOfMemory: field(oom, "oom_kill"),
    processesRefused: field(pids, "max"),
    cpuMs: Math.round(wholeNumber(cpu) / 1e6),
  };
}

/** Reads a version 2 group. */
export function readV2(folder: string): GroupReadings {
  const [peak, memory, pids, cpu] = [
    text(folder, "memory.peak"),
    text(folder, "memory.events"),
    text(folder, "pids.events"),
    text(folder, "cpu.stat"),
  ];
  return {
    memoryPeakBytes: wholeNumber(peak),
    outOfMemory: field(memory, "oom_kill"),
    processesRefused: field(pids, "max"),
    cpuMs: Math.round(field(cpu, "usage_usec") / 1000),
  };
}

/** Absent where the kernel is older or the controller is not there: then the launcher's own numbers stand alone. */
function text(folder: string | undefined, file: string): string {
  if (folder === undefined) return "";
  try {
    return readFileSync(join(folder, file), "utf8");
  } catch {
    return "";
  }
}

function wholeNumber(content: string): number {
  return Number.parseInt(content, 10) || 0;
}

function field(content: string, name: string): number {
  const line = content.split("\n").find((one) => one.startsWith(`${name} `));
  return wholeNumber(line?.slice(name.length + 1) ?? "");
}
