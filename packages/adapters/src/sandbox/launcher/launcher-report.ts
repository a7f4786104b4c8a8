import { type Fields, parseObject } from "./parse-object.ts";
export const LAUNCHER_HOWS = [
  "exited",
  "signalled",
  "timeout",
  "killed",
  "limit",
  "violation",
  "backend-failed",
  "exec-failed",
] as const;
/** `exited` and `signalled` are the command's own ending; with `backend-failed` it may not have run at all. */
export type LauncherHow = (typeof LAUNCHER_HOWS)[number];

export const WATCHED_LIMITS = ["memory", "cpu", "processes", "disk"] as const;
export type WatchedLimit = (typeof WATCHED_LIMITS)[number];

/** A system call that the filter handed over and the launcher refused. */
export interface RefusedSyscall {
  nr: number;
  /** The AUDIT_ARCH number of the caller's system call table. */
  arch: number;
  pid: number;
  /** The name of the program, which it can choose itself. */
  comm: string;
}

/** How a run ended, in the launcher's words. */
export interface LauncherEnding {
  how: LauncherHow;
  /** Of `exited`: the exit code. Of `backend-failed`: the backend's. */
  code: number;
  /** Of `signalled`: its number. */
  signal: number;
  /** Of `exec-failed` and `backend-failed`: why, or 0. */
  errno: number;
  userMs: number;
  systemMs: number;
  /** Of the largest single process. */
  maxRssBytes: number;
  wallMs: number;
  /** All refused system calls, also those not listed one by one. */
  violations: number;
  /** Processes that could not be killed; 0 unless the kernel holds them. */
  left: number;
  /** What could not be done, such as `mount the overlay`. */
  message?: string;
}

export type LauncherEvent =
  | { event: "started"; pid: number }
  | ({ event: "violation" } & RefusedSyscall)
  | { event: "limit"; limit: WatchedLimit; value: number }
  | ({ event: "ended" } & LauncherEnding);

/** Reads one line of the launcher's report; undefined when it is not one, whatever it is instead. */
export function readLauncherLine(line: Buffer): LauncherEvent | undefined {
  const fields = parseObject(line);
  switch (fields?.event) {
    case "started":
      return isCount(fields.pid) ? { event: "started", pid: fields.pid } : undefined;
    case "violation":
      return readViolation(fields);
    case "limit":
      return isOneOf(WATCHED_LIMITS, fields.limit) && isCount(fields.value)
        ? { event: "limit", limit: fields.limit, value: fields.value }
        : undefined;
    case "ended":
      return readEnding(fields);
    default:
      return undefined;
  }
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isOneOf<T extends string>(names: readonly T[], value: unknown): value is T {
  return names.some((name) => name === value);
}

function readViolation({ nr, arch, pid, comm }: Fields): LauncherEvent | undefined {
  if (typeof nr !== "number" || !isCount(arch) || !isCount(pid) || typeof comm !== "string") return undefined;
  return { event: "violation", nr, arch, pid, comm };
}

const COUNTS = [
  "code",
  "signal",
  "errno",
  "userMs",
  "systemMs",
  "maxRssBytes",
  "wallMs",
  "violations",
  "left",
] as const;

function readEnding(fields: Fields): LauncherEvent | undefined {
  const { how, message } = fields;
  if (!isOneOf(LAUNCHER_HOWS, how)) return undefined;
  const counts = emptyCounts();
  for (const name of COUNTS) {
    const value = fields[name];
    if (!isCount(value)) return undefined;
    counts[name] = value;
  }
  return { event: "ended", how, ...counts, ...(typeof message === "string" && { message }) };
}

function emptyCounts(): Record<(typeof COUNTS)[number], number> {
  return {
    code: 0,
    signal: 0,
    errno: 0,
    userMs: 0,
    systemMs: 0,
    maxRssBytes: 0,
    wallMs: 0,
    violations: 0,
    left: 0,
  };
}

/** An ending for a launcher that died or never ran, of which nothing else is known. */
export function endingWithoutReport(message: string, wallMs: number): LauncherEnding {
  return { how: "backend-failed", ...emptyCounts(), wallMs, message };
}
