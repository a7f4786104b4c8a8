import { type ChildProcess, spawn } from "node:child_process";
import { PassThrough, Readable, Writable } from "node:stream";
import {
  endingWithoutReport,
  type LauncherEnding,
  type LauncherEvent,
  type RefusedSyscall,
  readLauncherLine,
  type WatchedLimit,
} from "./launcher-report.ts";
import { LineSplitter } from "./line-splitter.ts";
import { ENV_FD, type HostUser, REPORT_FD, type SuperviseOptions, superviseArgv } from "./supervise-argv.ts";

/**
 * An environment as the launcher reads it: each variable ended by NUL. Throws TypeError for a name or value that would
 * come out as something else.
 */
export function environmentBytes(env: Readonly<Record<string, string>>): Buffer {
  const variables = Object.entries(env).map(([name, value]) => {
    if (name === "" || /[=\0]/.test(name) || value.includes("\0")) {
      throw new TypeError(`the environment variable ${JSON.stringify(name)} cannot be passed on`);
    }
    return `${name}=${value}\0`;
  });
  return Buffer.from(variables.join(""), "utf8");
}

/** What the launcher said so far. */
interface ReportState {
  ending?: LauncherEnding;
  limit?: { limit: WatchedLimit; value: number };
  refused: RefusedSyscall[];
}

interface WatchedReport {
  state: ReportState;
  /** Resolves with undefined when the report ends without it; never rejects. */
  started: Promise<number | undefined>;
  /** Resolves when nothing more can come; never rejects. */
  closed: Promise<void>;
}

const MOST_LINE_BYTES = 4096;
const MOST_REFUSED = 50;

/** Follows a launcher's report. Lines that make no sense are passed over: only a proper ending counts as one. */
export function watchReport(report: Readable): WatchedReport {
  const state: ReportState = { refused: [] };
  const started = Promise.withResolvers<number | undefined>();
  const closed = Promise.withResolvers<void>();
  const lines = new LineSplitter(MOST_LINE_BYTES);
  report.on("data", (chunk: Buffer) => {
    for (const line of lines.push(chunk)) {
      const event = line && readLauncherLine(line);
      if (event?.event === "started") started.resolve(event.pid);
      if (event) note(state, event);
    }
  });
  // A report that breaks off is one that ends: what is missing is noticed by whoever needs the ending.
  report.once("error", () => report.destroy());
  report.once("close", () => {
    started.resolve(undefined);
    closed.resolve();
  });
  return { state, started: started.promise, closed: closed.promise };
}

function note(state: ReportState, event: LauncherEvent): void {
  if (state.ending) return;
  switch (event.event) {
    case "ended": {
      const { event: _, ...ending } = event;
      state.ending = ending;
      return;
    }
    case "limit":
      state.limit ??= { limit: event.limit, value: event.value };
      return;
    case "violation": {
      const { event: _, ...refused } = event;
      if (state.refused.length < MOST_REFUSED) state.refused.push(refused);
      return;
    }
  }
}

/** How a supervised run ended, with all that was noticed on the way. */
export interface LauncherEnd extends LauncherEnding {
  /** Of `limit`: which one, and what was measured. */
  limit?: { limit: WatchedLimit; value: number };
  /** The first refused system calls, fifty at most. */
  refused: RefusedSyscall[];
}

/** A backend that runs under the launcher. */
export interface Supervised {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The host's pid of the sandbox's init; undefined when it ended before it came so far. Never rejects. */
  readonly started: Promise<number | undefined>;
  /** Resolves when the whole tree is gone; never rejects. */
  readonly ended: Promise<LauncherEnd>;
  /** Ends the whole tree at once. Safe to repeat. */
  kill(): void;
}

/** How the launcher's own process is started. */
export interface SuperviseHost {
  /** Starts the launcher as this user, as if the host process were not root. */
  as?: HostUser;
}

/** A launcher that does not react to being asked is killed itself, and its backend dies with it. */
const KILL_AFTER_MS = 150_000;

/** Runs a backend under the launcher. Never throws: what goes wrong is an ending with `backend-failed`. */
export function supervise(options: SuperviseOptions, host: SuperviseHost = {}): Supervised {
  const startedAt = performance.now();
  try {
    const environment = options.env && environmentBytes(options.env);
    const child = spawn(options.launcher, superviseArgv(options), {
      stdio: ["pipe", "pipe", "pipe", "pipe", ...(environment ? ["pipe" as const] : [])],
      env: {},
      ...(host.as && { uid: host.as.uid, gid: host.as.gid }),
    });
    if (environment) sendEnvironment(child.stdio[ENV_FD], environment);
    return attend(child, startedAt);
  } catch (error) {
    return notStarted(messageOf(error));
  }
}

function sendEnvironment(pipe: Writable | Readable | null | undefined, environment: Buffer): void {
  if (!(pipe instanceof Writable)) return;
  // A launcher that ended before it read this says so by its ending.
  pipe.on("error", () => pipe.destroy());
  pipe.end(environment);
}

function attend(child: ChildProcess, startedAt: number): Supervised {
  const { stdin, stdout, stderr } = child;
  const report = child.stdio[REPORT_FD];
  if (!stdin || !stdout || !stderr || !(report instanceof Readable)) {
    // Without descriptors for its pipes the process was not started; the error event says why.
    const failed = Promise.withResolvers<string>();
    child.once("error", (error) => failed.resolve(messageOf(error)));
    return notStarted(failed.promise);
  }
  // A command may end without reading its input; its ending tells, so the broken pipe says nothing new.
  stdin.on("error", () => stdin.destroy());
  const { started, state, closed } = watchReport(report);
  const ended = Promise.all([exitOf(child), closed]).then(([how]) =>
    endOf(state, { how, wallMs: Math.round(performance.now() - startedAt), byUs: child.killed }),
  );
  return { stdin, stdout, stderr, started, ended, kill: () => killLauncher(child) };
}

/** How the launcher itself ended, in words; the event may be an error instead of an exit. */
function exitOf(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once("exit", (code, signal) => resolve(signal ? `was killed by ${signal}` : `exited with ${code}`));
  child.on("error", (error) => {
    // Without a pid it never ran; with one a signal could not be sent, and its exit is still to come.
    if (child.pid === undefined) resolve(`could not be started: ${messageOf(error)}`);
  });
  return promise;
}

/** How the launcher's own process ended; `byUs` when it was asked to. */
interface LauncherExit {
  how: string;
  wallMs: number;
  byUs: boolean;
}

function endOf({ ending, limit, refused }: ReportState, { how, wallMs, byUs }: LauncherExit): LauncherEnd {
  const silent = endingWithoutReport(`the launcher ${how} without a report`, wallMs);
  // Asked to end before it could listen, it had started nothing yet.
  const asked = byUs && how.endsWith("SIGTERM") ? { ...silent, how: "killed" as const } : silent;
  return { ...(ending ?? asked), ...(limit && { limit }), refused };
}

function killLauncher(child: ChildProcess): void {
  if (child.killed || !child.kill("SIGTERM")) return;
  const patience = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS).unref();
  // Or everything about the run would be kept in memory until then.
  child.once("exit", () => clearTimeout(patience));
}

function notStarted(message: string | Promise<string>): Supervised {
  const ended = Promise.resolve(message).then((why): LauncherEnd => {
    return { ...endingWithoutReport(`the launcher could not be started: ${why}`, 0), refused: [] };
  });
  const stdin = new PassThrough().resume();
  return {
    stdin,
    stdout: Readable.from([]),
    stderr: Readable.from([]),
    started: Promise.resolve(undefined),
    ended,
    kill: () => undefined,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
