import { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { queryObjects } from "node:v8";

/** What this process holds while nothing runs, in words that compare. */
export interface AtRest {
  /** Descriptors by what they lead to, numbers taken out. */
  descriptors: string[];
  children: string[];
  /** Processes that somebody here still holds on to, though they have ended. */
  heldProcesses: number;
  /** Below the folder given. */
  files: string[];
}

const MOST_LOOKS = 60;

/** Looks at this process and its folder once it has come to rest: when a second look finds the same as the first. */
export async function readAtRest(folder: string): Promise<AtRest> {
  let seen = await look(folder);
  for (let turn = 0; turn < MOST_LOOKS; turn += 1) {
    const next = await look(folder);
    if (isDeepStrictEqual(seen, next)) break;
    seen = next;
  }
  return seen;
}

async function look(folder: string): Promise<AtRest> {
  await pause(300);
  globalThis.gc?.();
  return {
    descriptors: descriptors(),
    children: children(),
    heldProcesses: queryObjects(ChildProcess, { format: "count" }),
    files: filesIn(folder),
  };
}

/** That a call can no longer be undone: a bounded number of these stays by design. */
const EXPIRED = /^state\/undo\/[^/]+(\/status\.json)?$/;

/** Every path below a folder, random parts of names taken out. */
export function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  return paths
    .filter((path) => !EXPIRED.test(path))
    .map(anonymous)
    .sort();
}

function descriptors(): string[] {
  return readdirSync("/proc/self/fd")
    .flatMap((number) => linkOf(`/proc/self/fd/${number}`))
    .filter((leadsTo) => !/^\/proc\/\d+\/fd$/.test(leadsTo))
    .map((leadsTo) => leadsTo.replace(/\[\d+\]/, "[…]"))
    .sort();
}

function linkOf(path: string): string[] {
  try {
    return [readlinkSync(path)];
  } catch {
    // The descriptor of the listing itself is closed by now.
    return [];
  }
}

function children(): string[] {
  const threads = readdirSync("/proc/self/task");
  return threads.flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, "utf8").split(" ").filter(Boolean),
  );
}

function anonymous(path: string): string {
  return path
    .replaceAll(/\d+-[0-9a-f]{6}\b/g, "PID-RANDOM")
    .replaceAll(/sallyport-\w{6}\b/g, "sallyport-RANDOM");
}
