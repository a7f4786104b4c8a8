import { readdirSync, readFileSync } from "node:fs";

/** The kernel counts in hundredths of a second here. */
const TICK_MS = 10;

/** What all threads of a process have used so far; 0 where there is no /proc. */
export function cpuMsOf(pid: number): number {
  const fields = statOf(pid);
  return fields ? (Number(fields[11]) + Number(fields[12])) * TICK_MS : 0;
}

/** What a process and all that it has started have used so far, those that ended included. */
export function familyCpuMsOf(pid: number): number {
  const own = statOf(pid);
  if (!own) return 0;
  const ended = (Number(own[13]) + Number(own[14])) * TICK_MS;
  const children = readdirSync("/proc").filter((name) => statOf(Number(name))?.[1] === String(pid));
  return children.reduce((sum, child) => sum + cpuMsOf(Number(child)), cpuMsOf(pid) + ended);
}

/** The process that started this one. */
export function parentOf(pid: number): number {
  return Number(statOf(pid)?.[1] ?? 0);
}

/** The fields of /proc/PID/stat after the name, which may hold spaces: state, parent, … */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}
