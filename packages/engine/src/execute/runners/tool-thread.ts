import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
  type WorkerOptions,
} from "node:worker_threads";
import type { RunFault } from "../../ports/runner.ts";
import { timerMs } from "../../timeouts.ts";
import type { CallHolder, Measurement, ThreadCall, ThreadSpec } from "./thread-call.ts";
import type { Handover } from "./thread-entry.ts";
import { cleanText, describeThrown } from "./tool-result.ts";
import { openTypeStripper, sourceThreadEnv } from "./type-stripper.ts";
import { type CallReport, encodeFrame, programBeside, readReport } from "./wire.ts";

// One worker thread, loaded with one version of one tool for one agent. It is
//   starting – its module loads; it may hold a call that is not sent yet, and may give that up to another thread;
//   idle     – nothing runs; it does not keep the process alive; the pool may give it calls or end it;
//   busy     – it has a batch of calls, and runs one after the other;
//   ending   – told to stop (or stopping by itself); takes no more calls;
//   ended    – the thread is gone. Only now does it stop counting against the pool's limit.
// starting to idle or busy, idle ⇄ busy, and from each of them to ending and ended. A thread ends when its call overran,
// used too much memory or ignored a cancel; when its module did not load in the time of the call it was started for; when
// anything went uncaught in it, during a call or after; when it exits; and when anything but a well-formed report comes
// out of its port. It is never repaired. Nobody listens to the worker's own "message" event: what a tool posts there goes
// nowhere.
//
// A batch is one message, so that a thread wakes up once for many short calls. The thread claims each call in shared memory
// before it begins it; until then the host can take the call back, for another thread or because it was cancelled. The
// result of a call is posted before the next one is claimed, so at most one call is begun and not reported.

const ENTRY = programBeside(import.meta.url, "thread-entry");
const MIB = 1_048_576;
const HEADROOM_MIB = 1_024;
const PASSED_ON = ["TZ", "LANG", "NODE_ENV"];
const MAX_STDERR_CHARS = 1_000;
/** A thread stuck in native code (a blocking read, spawnSync) cannot be ended; the result does not wait longer. */
const LONGEST_END_MS = 500;
/** A call that runs longer than this is measured. */
const SHORT_CALL_MS = 10;
/** The calls behind one that runs longer than this are taken back. */
const STALL_MS = 25;
/** How long a batch should take, and how many calls it may have. */
const BATCH_MS = 20;
const MAX_BATCH = 32;
/** Calls that take less processor time than this are not served faster by more threads. */
const LIGHT_CALL_CPU_MS = 0.5;
/** Messages that are heard in one go: a thread that floods its port holds up nobody else. */
const MAX_HEARD = 1_000;
/** In shared memory, where the number of the last call that was begun stands: no call may be begun. */
const TAKEN_BACK = -1;

export interface ThreadEvents {
  /** Its module is loaded: others may start. */
  onReady(): void;
  onIdle(thread: ToolThread): void;
  /** Calls that it had not begun, in their order. */
  onTakenBack(calls: ThreadCall[]): void;
  onEnded(thread: ToolThread): void;
}

type ThreadState = "starting" | "idle" | "busy" | "ending" | "ended";

interface ToolThreadOptions {
  cancelGraceMs: number;
  /** How long it stays idle before it ends by itself. */
  idleMs: number;
  events: ThreadEvents;
}

export class ToolThread implements CallHolder {
  readonly spec: ThreadSpec;
  /** On the `performance.now()` clock, as `idleSince`. */
  readonly startedAt = performance.now();
  idleSince = 0;
  readonly #options: ToolThreadOptions;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #claims = new Int32Array(new SharedArrayBuffer(4));
  readonly #ended = Promise.withResolvers<void>();
  /** The batch without the calls that are over; the first one runs. While it starts: the call it was started for. */
  #calls: ThreadCall[] = [];
  #lastId = 0;
  #cpuMs = 0;
  /** When the first of `#calls` may have begun. */
  #begunAt = 0;
  /** What a call of the last batch took, measured here, and its processor time. Not known yet: too much for a batch. */
  #perCall = { ms: Number.POSITIVE_INFINITY, cpuMs: Number.POSITIVE_INFINITY };
  #batch = { size: 0, sentAt: 0, cpuMs: 0 };
  #isMeasuring = false;
  #state: ThreadState = "starting";
  #loadTimer: NodeJS.Timeout | undefined;
  /** One for life, restarted whenever it is idle again, so that a busy thread costs no timers. */
  #idleTimer: NodeJS.Timeout | undefined;
  #endTimer: NodeJS.Timeout | undefined;

  /** Throws when the process cannot start another thread. */
  constructor(spec: ThreadSpec, options: ToolThreadOptions) {
    this.spec = spec;
    this.#options = options;
    this.#worker = new Worker(ENTRY, workerOptions(spec));
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#listenToThread();
    const { moduleUrl, tool, version } = spec;
    const types = openTypeStripper();
    const handover: Handover = { moduleUrl, tool, version, port: port2, claims: this.#claims.buffer, types };
    this.#worker.postMessage(handover, [port2, types]);
  }

  /** True while it will take another call, now or after the ones it has. */
  get inService(): boolean {
    return this.#state !== "ending" && this.#state !== "ended";
  }

  get state(): ThreadState {
    return this.#state;
  }

  /** How many calls it may be given at once: as many as have run in a few milliseconds. */
  get batchSize(): number {
    return Math.min(MAX_BATCH, Math.max(1, Math.floor(BATCH_MS / this.#perCall.ms)));
  }

  /** True while its calls are so short and light that another thread would only take processor time from this one. */
  get suffices(): boolean {
    if (!this.inService || this.batchSize === 1 || this.#perCall.cpuMs > LIGHT_CALL_CPU_MS) return false;
    return this.#calls.length === 0 || performance.now() - this.#begunAt < STALL_MS;
  }

  /** Takes the call that it was started for, and waits for its module no longer than the call may run. */
  startFor(call: ThreadCall): void {
    this.#calls = [call];
    call.giveTo(this);
    const overdue = () => this.#fail({ kind: "timeout" });
    this.#loadTimer = setTimeout(overdue, timerMs(call.job.timeoutMs)).unref();
  }

  /** Gives up the call that it was started for, while the module still loads. */
  yieldCall(): ThreadCall | undefined {
    if (this.#state !== "starting" || this.#calls.length === 0) return undefined;
    this.#worker.unref();
    return this.#calls.pop();
  }

  /** Runs calls on the idle thread, one after the other. */
  send(calls: ThreadCall[]): void {
    this.#state = "busy";
    this.#calls = calls;
    this.#worker.ref();
    this.#begunAt = performance.now();
    this.#batch = { size: calls.length, sentAt: this.#begunAt, cpuMs: this.#cpuMs };
    Atomics.store(this.#claims, 0, this.#lastId);
    const post = (...order: Parameters<typeof encodeFrame>) => this.#port.postMessage(encodeFrame(...order));
    const frames = calls.map((call) => {
      this.#lastId += 1;
      call.sendAs(this.#lastId);
      return encodeFrame(...call.runOrder(call.id, post));
    });
    this.#port.postMessage(frames.join("\n"));
  }

  /** Ends the thread; the call that runs is cancelled. Resolves when it is gone, or after a bounded wait. */
  async end(): Promise<void> {
    this.#stop();
    for (const call of [...this.#calls]) call.latch.cancel();
    await this.#ended.promise;
  }

  /**
   * Looks after a call that takes longer: the calls behind it are taken back, and what it uses is measured. Called every
   * few milliseconds while the thread is starting or busy; false when it is neither.
   */
  watch(): boolean {
    if (this.#calls.length === 0) return false;
    if (performance.now() - this.#begunAt < SHORT_CALL_MS) return true;
    this.listen();
    const runningMs = performance.now() - this.#begunAt;
    if (runningMs >= STALL_MS && this.#calls.length > 1) this.#takeBack();
    if (runningMs >= SHORT_CALL_MS) void this.#measure();
    return true;
  }

  askToStop(call: ThreadCall): number {
    // Nothing to tidy up in a tool that has not begun.
    if (!this.#isBegun(call)) return 0;
    call.abort();
    return this.#options.cancelGraceMs;
  }

  /** Ports and events are not in step: a result may have come before the news of the thread's end. */
  listen(most = MAX_HEARD): void {
    for (let heard = 0; heard < most; heard += 1) {
      const next = receiveMessageOnPort(this.#port);
      if (!next) return;
      this.#onMessage(next.message);
    }
  }

  letGo(call: ThreadCall): boolean {
    if (!call.isReported && this.#state === "busy") this.#takeBack();
    const isRunning = this.#calls.includes(call) && !call.isReported;
    if (isRunning) this.#stop();
    return !isRunning;
  }

  #isBegun(call: ThreadCall): boolean {
    if (this.#state !== "busy" || !this.#calls.includes(call)) return false;
    const lastBegun = Atomics.load(this.#claims, 0);
    return lastBegun === TAKEN_BACK || call.id <= lastBegun;
  }

  /** Takes back the calls that it has not begun; those without an outcome go to other threads. */
  #takeBack(): void {
    const lastBegun = Atomics.exchange(this.#claims, 0, TAKEN_BACK);
    if (lastBegun === TAKEN_BACK) return;
    const back = this.#calls.filter(({ id }) => id > lastBegun);
    this.#calls = this.#calls.filter(({ id }) => id <= lastBegun);
    this.#batch.size -= back.length;
    const open = back.filter(({ latch }) => !latch.outcome);
    if (open.length > 0) this.#options.events.onTakenBack(open);
    this.#rest();
  }

  /** Idle again, when it has no call left. */
  #rest(): void {
    if (this.#state !== "busy" || this.#calls.length > 0) return;
    const { size, sentAt, cpuMs } = this.#batch;
    if (size > 0) {
      this.#perCall = { ms: (performance.now() - sentAt) / size, cpuMs: (this.#cpuMs - cpuMs) / size };
    }
    this.#worker.unref();
    this.#becomeIdle();
  }

  #becomeIdle(): void {
    this.#state = "idle";
    this.idleSince = performance.now();
    const { idleMs, events } = this.#options;
    if (this.#idleTimer) this.#idleTimer.refresh();
    else this.#idleTimer = setTimeout(() => this.#state === "idle" && this.end(), timerMs(idleMs)).unref();
    events.onIdle(this);
  }

  #listenToThread(): void {
    this.#worker.on("error", (error) => {
      this.#stop();
      this.listen();
      this.#fail(uncaughtFault(error));
    });
    this.#worker.on("exit", (code) => this.#onExit(code));
    this.#port.on("message", (message) => {
      this.#onMessage(message);
      this.listen();
    });
    this.#port.on("messageerror", () => this.#failProtocol("an unreadable message"));
    this.#port.on("close", () => this.#stop());
    this.#port.unref();
  }

  #onMessage(message: unknown): void {
    const opened = readReport(message, this.#calls[0]?.job.maxOutputBytes ?? 0);
    if (opened === undefined) this.#failProtocol("a message that is no report");
    else if (opened.report.kind === "ready") this.#onReady(opened.report.threadCpuMs);
    else if (opened.report.kind === "unusable") this.#fail(opened.report.fault);
    else this.#onReport(opened.report, opened.body);
  }

  #onReady(threadCpuMs: number): void {
    if (this.#state !== "starting") return;
    clearTimeout(this.#loadTimer);
    this.#cpuMs = threadCpuMs;
    if (this.#calls.length > 0) this.send(this.#calls);
    else this.#becomeIdle();
    this.#options.events.onReady();
  }

  #onReport(report: CallReport, body: string): void {
    const [call] = this.#calls;
    if (report.call > this.#lastId) this.#failProtocol("a report about a call it was never given");
    // A report about a call that is over comes too late to matter.
    if (report.call !== call?.id || call.latch.outcome) return;
    if (report.kind === "done" || report.kind === "failed") {
      call.note(report, this.#cpuMs);
      call.isReported = true;
      call.take(report, body);
      this.#cpuMs = report.threadCpuMs;
      this.#begunAt = performance.now();
      this.#calls.shift();
      this.#rest();
    } else call.take(report, body);
  }

  #failProtocol(what: string): void {
    this.#fail({ kind: "died", message: `the tool's thread broke the protocol: it sent ${what}` });
  }

  #fail(fault: RunFault): void {
    this.#stop();
    for (const call of [...this.#calls]) call.latch.fail(fault);
  }

  async #measure(): Promise<void> {
    const [call] = this.#calls;
    if (this.#isMeasuring || !call) return;
    this.#isMeasuring = true;
    // A thread that is gone reports its end by itself.
    const measured = await this.#readUsage().catch(() => undefined);
    this.#isMeasuring = false;
    if (measured === undefined || call !== this.#calls[0] || call.latch.outcome) return;
    call.note(measured, this.#cpuMs);
    const fault = call.exceeded(measured);
    if (fault) this.#fail(fault);
  }

  async #readUsage(): Promise<Measurement> {
    const [heap, cpu] = await Promise.all([this.#worker.getHeapStatistics(), this.#worker.cpuUsage()]);
    const { used_heap_size: heapBytes, external_memory: bufferBytes } = heap;
    const threadCpuMs = (cpu.user + cpu.system) / 1_000;
    return { threadCpuMs, heapBytes, memoryBytes: heapBytes + bufferBytes };
  }

  #stop(): void {
    if (!this.inService) return;
    const wasBusy = this.#state === "busy";
    this.#state = "ending";
    if (wasBusy) this.#takeBack();
    void this.#worker.terminate();
    this.#endTimer = setTimeout(() => this.#stopWaiting(), LONGEST_END_MS);
  }

  #stopWaiting(): void {
    this.#worker.unref();
    this.#conclude({ kind: "died", message: "the tool's thread broke off and does not stop" });
    this.#ended.resolve();
  }

  #onExit(code: number): void {
    this.#stop();
    this.#state = "ended";
    clearTimeout(this.#endTimer);
    clearTimeout(this.#loadTimer);
    clearTimeout(this.#idleTimer);
    this.listen(Number.POSITIVE_INFINITY);
    const message = `the tool's thread ended with code ${code}${this.#stderrTail()}`;
    this.#conclude({ kind: "died", message });
    this.#calls = [];
    this.#port.close();
    this.#ended.resolve();
    this.#options.events.onEnded(this);
  }

  /** The calls that it still has get this fault, unless they have one. */
  #conclude(fault: RunFault): void {
    for (const call of [...this.#calls]) {
      call.latch.fail(fault);
      call.conclude();
    }
  }

  /** What the thread passed on of its stderr when it exited (thread-entry.ts). */
  #stderrTail(): string {
    const printed: unknown = this.#worker.stderr.read();
    if (!(printed instanceof Uint8Array)) return "";
    return cleanText(`; it printed: ${printed.toString().trim().slice(-MAX_STDERR_CHARS)}`);
  }
}

/**
 * How the worker is started: without the host's environment, flags and output.
 *
 * V8's own heap limit stands well above the tool's limit on purpose. When a single allocation does not fit under it
 * (`new Array(1e8).fill(0)`, a growing Map), V8 aborts the whole process, not the thread. The tool's limit is therefore
 * kept by measuring, and V8's is only the last line.
 */
function workerOptions({ memoryLimitBytes }: ThreadSpec): WorkerOptions {
  const memoryMib = memoryLimitBytes / MIB;
  const env = Object.entries(process.env).filter(([name]) => PASSED_ON.includes(name));
  return {
    name: "sallyport-tool",
    env: { ...sourceThreadEnv(ENTRY), ...Object.fromEntries(env) },
    argv: [],
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: {
      maxOldGenerationSizeMb: memoryMib + HEADROOM_MIB,
      maxYoungGenerationSizeMb: Math.min(48, Math.max(4, memoryMib / 4)),
    },
  };
}

function uncaughtFault(error: unknown): RunFault {
  const threw = describeThrown(error);
  const outOfMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return outOfMemory ? { kind: "memory", message: threw.message } : threw;
}
