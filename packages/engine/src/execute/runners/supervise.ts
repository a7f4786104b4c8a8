import { isUtf8 } from "node:buffer";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { failure, type Isolation, SallyportError } from "@sallyport/protocol";
import type { Job, RunFault, RunResult, RunUsage } from "../../ports/runner.ts";
import type { SandboxEnd, SandboxEnding, SandboxProcess, SandboxUsage } from "../../ports/sandbox.ts";
import { timerMs, withTimeout } from "../../timeouts.ts";
import { NO_USAGE, type Outcome, OutcomeLatch, refused } from "./outcome-latch.ts";
import { cleanText, describeThrown, leftOut } from "./tool-result.ts";

// The life of a call in a process of its own, the same for every kind of it:
//   starting – a sandbox is made or claimed; a call with an outcome waits for it only so long, and a process that comes
//              later is killed at once;
//   running  – its session talks with the process, until it ends or the call has an outcome;
//   ending   – the process is killed, and the result waits (a bounded time) until its whole tree is gone, because only then
//              it is known what it used, what it tried, and that it does nothing any more;
//   over     – one result, nothing left behind.

/** The kernel ends a process in milliseconds; one that is still there after this long is stuck (FR-EXE-05). */
const LONGEST_END_MS = 5_000;

/** A process that was made or claimed for a call. */
export interface StartedProcess {
  process: SandboxProcess;
  /** Begins to talk with it. */
  open(): ProcessSession;
}

/** What a kind of call does with its process. */
export interface ProcessSession {
  /** What it means that the process has ended by itself, with an exit code or a signal. Never rejects. */
  conclude(end: SandboxEnd): Outcome | Promise<Outcome>;
  /** Processor time that belongs to no call, because it was spent before this one. */
  cpuBeforeMs?: number;
}

/** The calls of a runner that are under way, so that closing it leaves none behind. */
export class SupervisedCalls {
  readonly #running = new Map<OutcomeLatch, Promise<RunResult>>();
  readonly #endMs: number;
  #closed = false;

  /** `endMs`: how long a result waits for a process that was killed and does not end. */
  constructor(endMs: number = LONGEST_END_MS) {
    this.#endMs = endMs;
  }

  /**
   * Runs a call to its end. Never rejects; a start that rejects with a SallyportError means that nothing could run. After
   * `close` every call is cancelled at once.
   */
  async run(job: Job, start: (latch: OutcomeLatch) => Promise<StartedProcess>): Promise<RunResult> {
    if (this.#closed || job.signal.aborted) return refused({ kind: "cancelled" });
    const latch = new OutcomeLatch(job);
    const running = supervise(job, { latch, start, endMs: this.#endMs });
    this.#running.set(latch, running);
    const result = await running;
    this.#running.delete(latch);
    return result;
  }

  /** Cancels what runs, and waits until it is gone. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const latch of this.#running.keys()) latch.cancel();
    await Promise.all(this.#running.values());
  }
}

async function supervise(job: Job, { latch, start, endMs }: Supervision): Promise<RunResult> {
  const overdue = Promise.withResolvers<undefined>();
  let timer: NodeJS.Timeout | undefined;
  let process: SandboxProcess | undefined;
  latch.onOutcome = () => {
    process?.kill();
    timer = setTimeout(() => overdue.resolve(undefined), timerMs(endMs));
  };
  try {
    latch.start();
    const starting = start(latch);
    const started = await Promise.race([starting, overdue.promise]);
    process = started?.process;
    if (started) return await runToEnd(started, job, { latch, overdue: overdue.promise });
    void starting.then(
      (late) => late.process.kill(),
      () => undefined,
    );
    return { ...(latch.outcome ?? crashed("no sandbox was made in time")), usage: NO_USAGE };
  } catch (error) {
    return refused(startFault(error));
  } finally {
    process?.kill();
    latch.release();
    latch.onOutcome = undefined;
    clearTimeout(timer);
  }
}

interface Supervision {
  latch: OutcomeLatch;
  start: (latch: OutcomeLatch) => Promise<StartedProcess>;
  endMs: number;
}

/** `overdue` resolves when a call that has an outcome waits no longer for its process. */
async function runToEnd(
  started: StartedProcess,
  { confinement }: Job,
  { latch, overdue }: { latch: OutcomeLatch; overdue: Promise<undefined> },
): Promise<RunResult> {
  const { process } = started;
  const session = started.open();
  confinement?.onEvent?.("SANDBOX_CREATED");
  if (latch.outcome) process.kill();
  const end = await Promise.race([process.ended, overdue]);
  if (end === undefined) return unended(latch.outcome, process.isolation);
  confinement?.onEvent?.("SANDBOX_DESTROYED");
  const outcome = await judge(latch.outcome, end, session);
  const usage = usageOf(end.usage, session.cpuBeforeMs ?? 0);
  const { enforcement, violations } = end;
  return {
    ...withinCpu(outcome, usage, confinement?.limits.cpuMs),
    usage,
    sandbox: { isolation: process.isolation, enforcement, violations },
  };
}

/** A breach outranks everything; a limit that was exceeded, a good result; else the first outcome counts. */
function judge(
  decided: Outcome | undefined,
  end: SandboxEnd,
  session: ProcessSession,
): Outcome | Promise<Outcome> {
  const { kind } = end.ending;
  const fault = imposedFault(end.ending);
  if (!fault) return decided ?? session.conclude(end);
  const outranks = kind === "violation" || !decided || (kind === "limit" && decided.ok);
  return outranks ? { ok: false, fault } : decided;
}

/** The fault of an ending that came from outside; exit codes and signals are for the session to judge. */
function imposedFault(ending: SandboxEnding): RunFault | undefined {
  switch (ending.kind) {
    case "exited":
    case "signalled":
      return undefined;
    case "killed":
      return { kind: "cancelled" };
    case "timeout":
      return { kind: "timeout" };
    case "limit":
      return { kind: "limit", limit: ending.limit, message: cleanText(ending.message) };
    case "crashed": {
      const message = cleanText(ending.message);
      return ending.notMade
        ? { kind: "refused", failure: failure("E3101", { message }) }
        : { kind: "crashed", message };
    }
    case "violation":
      return { kind: "violation", message: cleanText(ending.message) };
  }
}

/** Nothing is known of what the process did after its last report, so no result of it stands. */
function unended(decided: Outcome | undefined, isolation: Isolation): RunResult {
  const outcome = decided && !decided.ok ? decided : crashed("its sandbox was ended and does not stop");
  return { ...outcome, usage: NO_USAGE, sandbox: { isolation, enforcement: {}, violations: [] } };
}

function crashed(message: string): Outcome {
  return { ok: false, fault: { kind: "crashed", message } };
}

/**
 * Processor time counts from the claim: what a warm process had spent before is taken off, and the limit, which its sandbox
 * was given with an allowance for loading, is looked at again. The memory peak is that of the whole life of the process:
 * loading the module is part of it, as it is in a process started for the call.
 */
function usageOf({ cpuMs, ...rest }: SandboxUsage, cpuBeforeMs: number): RunUsage {
  return { ...rest, cpuMs: Math.max(0, cpuMs - cpuBeforeMs) };
}

function withinCpu(outcome: Outcome, { cpuMs }: RunUsage, limitMs: number | undefined): Outcome {
  if (!outcome.ok || limitMs === undefined || cpuMs <= limitMs) return outcome;
  const message = `it used ${Math.round(cpuMs)} ms; ${limitMs} ms are allowed`;
  return { ok: false, fault: { kind: "limit", limit: "cpu", message } };
}

/** Why nothing ran. */
function startFault(error: unknown): RunFault {
  if (error instanceof SallyportError) return { kind: "refused", failure: error.failure };
  return { kind: "crashed", message: `no sandbox could be started: ${describeThrown(error).message}` };
}

/** How long output that is under way may still come once the process is gone; its pipes are closed by then. */
const LONGEST_REST_MS = 1_000;

interface OutputBounds {
  /** How much is kept. */
  maxBytes: number;
  /** Which part: the beginning, up to the point where it became too much, or the end. */
  keep: "start" | "end";
  /** How much may come at all. `onExceeded` is called once. */
  limit?: { bytes: number; onExceeded(): void };
}

/** Reads a process's stream to its end and keeps a bounded part of it. */
export class KeptOutput {
  readonly #bounds: OutputBounds;
  readonly #closed: Promise<unknown>;
  #chunks: Buffer[] = [];
  #keptBytes = 0;
  #bytes = 0;

  constructor(stream: Readable, bounds: OutputBounds) {
    this.#bounds = bounds;
    this.#closed = once(stream, "close").catch(() => undefined);
    stream.on("data", (chunk: Buffer) => this.#take(chunk));
    // A broken pipe ends the output; why the process ended is told elsewhere.
    stream.on("error", () => undefined);
  }

  /** How much came in all. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What was kept so far. */
  get kept(): Buffer {
    const all = Buffer.concat(this.#chunks);
    return this.#bounds.keep === "end" ? all.subarray(-this.#bounds.maxBytes) : all;
  }

  /** Resolves when the stream has closed, or after a short while: never later. */
  async closed(): Promise<void> {
    await withTimeout(this.#closed, LONGEST_REST_MS);
  }

  /** The kept beginning, without a character that was cut at its end. */
  wholeStart(): Buffer {
    const kept = this.kept;
    const cuts = this.#bytes > kept.length ? [0, 1, 2, 3] : [0];
    const cut = cuts.find((count) => isUtf8(kept.subarray(0, kept.length - count)));
    return kept.subarray(0, kept.length - (cut ?? 0));
  }

  /** The kept end as text: it does not begin within a character, and says when something is missing. */
  tailText(maxBytes: number = this.#bounds.maxBytes): string {
    const tail = this.kept.subarray(-maxBytes);
    const missing = this.#bytes - tail.length;
    if (missing <= 0) return tail.toString("utf8");
    const start = tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
    return `${leftOut(missing)}\n${tail.subarray(Math.max(0, start)).toString("utf8")}`;
  }

  #take(chunk: Buffer): void {
    const before = this.#bytes;
    const { maxBytes, keep, limit } = this.#bounds;
    this.#bytes += chunk.length;
    if (keep === "end") this.#keepEnd(chunk);
    else if (before < maxBytes) this.#chunks.push(chunk.subarray(0, maxBytes - before));
    if (limit && before <= limit.bytes && this.#bytes > limit.bytes) limit.onExceeded();
  }

  /** Old chunks go as soon as the newer ones alone are enough. */
  #keepEnd(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#keptBytes += chunk.length;
    for (let [first] = this.#chunks; first; [first] = this.#chunks) {
      if (this.#keptBytes - first.length < this.#bounds.maxBytes) return;
      this.#chunks.shift();
      this.#keptBytes -= first.length;
    }
  }
}

/** The fault of a process that printed more than it may. */
export function outputFault(maxBytes: number): RunFault {
  return { kind: "limit", limit: "output", message: `it printed more than ${maxBytes} bytes` };
}
