import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** What is left on this machine of a life that had a folder of its own. */
export interface Traces {
  processes: string[];
  /** Other than our own, of those processes. */
  namespaces: string[];
  /** In our own mount namespace. */
  mounts: string[];
  cgroups: string[];
  sockets: string[];
}

/**
 * Everything that has to do with the folder or the process. A sandbox's processes are found by what is mounted for
 * them, which they cannot change; everything mounted there is below the folder.
 */
export function tracesOf(folder: string, pid: number): Traces {
  const own = pids().filter((each) => each !== pid && hasToDoWith(each, folder));
  return {
    processes: own.map((each) => `${each} ${commandLine(each)}`),
    namespaces: [...new Set(own.flatMap(foreignNamespaces))].sort(),
    mounts: linesWith("/proc/self/mountinfo", folder),
    cgroups: groupsOf(pid),
    sockets: socketsIn(folder),
  };
}

function pids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isSafeInteger);
}

function hasToDoWith(pid: number, folder: string): boolean {
  return [`/proc/${pid}/cmdline`, `/proc/${pid}/mountinfo`].some((path) => textOf(path).includes(folder));
}

/** Empty for one that has ended meanwhile. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** By their files: the kernel lists a socket under the name it was bound with, which may be one by a descriptor. */
function socketsIn(folder: string): string[] {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return found.filter((file) => file.isSocket()).map(({ parentPath, name }) => join(parentPath, name));
}

function commandLine(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();
}

function linesWith(path: string, text: string): string[] {
  return textOf(path)
    .split("\n")
    .filter((line) => line.includes(text));
}

const NAMESPACES = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];

function foreignNamespaces(pid: number): string[] {
  return NAMESPACES.flatMap((kind) => {
    const theirs = namespaceOf(pid, kind);
    return theirs !== undefined && theirs !== namespaceOf("self", kind) ? [theirs] : [];
  });
}

function namespaceOf(pid: number | "self", kind: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return undefined;
  }
}

/** Groups carry the name of the process that made them. */
function groupsOf(pid: number): string[] {
  const found: string[] = [];
  const look = (folder: string) => {
    for (const entry of foldersIn(folder)) {
      const path = join(folder, entry);
      if (entry.startsWith(`sallyport-${pid}-`)) found.push(path);
      look(path);
    }
  };
  look("/sys/fs/cgroup");
  return found;
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}
