import { readFileSync } from "node:fs";

/**
 * Names this process for as long as the host is up: its number and when it started. A number alone is not enough, as in
 * a container every start has the same one.
 */
export function ownMark(): string {
  return `${process.pid}-${startOf(process.pid) ?? "0"}`;
}

/** Whether the process is there whose mark a name begins with. A name without a mark is nobody's to remove. */
export function isOwnerAlive(name: string): boolean {
  const [, pid, start] = /^(\d+)-([0-9a-z]+)(?:-|$)/.exec(name) ?? [];
  return pid === undefined || startOf(Number(pid)) === start;
}

/** In clock ticks since the host was started; undefined when there is no such process. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // Counted from the state on: the name before it may hold anything.
    const ticks = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    return Number(ticks).toString(36);
  } catch {
    return undefined;
  }
}
