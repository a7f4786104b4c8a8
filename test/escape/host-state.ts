import { readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";

/** What no attempt may change about this host. */
export type HostState = Record<string, string>;

const SETTINGS = [
  ...["kernel/core_pattern", "kernel/modprobe", "kernel/hostname", "kernel/domainname", "kernel/sysrq"],
  ...["kernel/randomize_va_space", "kernel/panic", "kernel/kptr_restrict", "fs/suid_dumpable"],
  ...["vm/overcommit_memory", "vm/panic_on_oom", "net/ipv4/ip_forward", "net/ipv4/ping_group_range"],
  ...["user/max_user_namespaces", "fs/binfmt_misc/status"],
].map((name) => `/proc/sys/${name}`);

const FILES = [
  ...[
    "/proc/self/mountinfo",
    "/proc/self/limits",
    "/proc/self/oom_score_adj",
    "/proc/swaps",
    "/proc/modules",
  ],
];

const IPC = ["/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem"];
/** Key, id, rights and size. Who uses a segment and when changes by itself: a database server has one. */
const LASTING_COLUMNS = 4;

/** Off by more than this, somebody has set the clock. */
const CLOCK_STEP_MS = 2000;

export function hostState(): HostState {
  const clock = Math.round((Date.now() - performance.timeOrigin - performance.now()) / CLOCK_STEP_MS);
  return {
    "host name": hostname(),
    "steps of the clock": String(clock),
    "control groups": controlGroups().join(" "),
    "device nodes": readdirSync("/dev").join(" "),
    ...Object.fromEntries([...SETTINGS, ...FILES].map((path) => [path, contentOf(path)])),
    ...Object.fromEntries(IPC.map((path) => [path, ipcObjects(path)])),
  };
}

/** What changed between two looks, in words. */
export function changesBetween(before: HostState, now: HostState): string[] {
  return Object.keys(before)
    .filter((name) => before[name] !== now[name])
    .map((name) => `${name} was ${before[name]} and is ${now[name]}`);
}

function contentOf(path: string): string {
  return textOf(path).replaceAll(/\s+/g, " ");
}

function ipcObjects(path: string): string {
  const rows = textOf(path).trim().split("\n");
  return rows.map((row) => row.trim().split(/\s+/).slice(0, LASTING_COLUMNS).join(" ")).join(", ");
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    // A host without that file must not get it either.
    return (error as NodeJS.ErrnoException).code ?? "";
  }
}

/** Groups of this very process; those of others come and go as they like. */
function controlGroups(): string[] {
  const found: string[] = [];
  const look = (folder: string, depth: number): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isDirectory()) continue;
      if (entry.name.startsWith(`sallyport-${process.pid}-`)) found.push(join(folder, entry.name));
      else if (depth < 4) look(join(folder, entry.name), depth + 1);
    }
  };
  try {
    look("/sys/fs/cgroup", 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return found;
}

/** Processes on the host that carry a mark in their environment or arguments. */
export function processesWith(mark: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) =>
      [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`].some((path) => contentOf(path).includes(mark)),
    )
    .map(
      (pid) => `process ${pid} is still there: ${contentOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ")}`,
    );
}
