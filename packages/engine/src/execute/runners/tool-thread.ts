import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { Job, RunFault, RunResult } from "../../ports/runner.ts";
import { cleanText, describeThrown } from "./describe-thrown.ts";
import type { Measurement } from "./memory-limit.ts";
import { readReport } from "./read-report.ts";
import { ThreadCall, type ThreadHold } from "./thread-call.ts";
import type { CallReport, Handover, Reading } from "./thread-frames.ts";
import { type ThreadSpec, threadHandover, workerOptions } from "./thread-spec.ts";

// One worker thread, loaded with one version of one tool for one tenant. It is
//   starting – its module loads; it may hold a call that is not sent yet, and may give that up to another thread;
//   idle   – nothing runs; it does not keep the process alive; the pool may give it a call or end it;
//   busy   – exactly one call runs;
//   ending – told to stop (or stopping by itself); takes no more calls;
//   ended  – the thread is gone. Only now does it stop counting against the pool's limit.
// starting to idle or busy, idle ⇄ busy, and from each of them to ending and ended. A thread ends when its call overran, used too much memory or
// ignored a cancel; when its module did not load in the time of the call it
// was started for; when anything went uncaught in it, during a call or after;
// when it exits; and when anything but a well-formed report comes out of its port. It is never repaired.
// Nobody listens to the worker's own "message" event: what a tool posts there goes nowhere.

const LONGEST_TIMER_MS = 2_147_483_647;
const MAX_WORDS_CHARS = 1_000;
/** A thread stuck in native code (a blocking read, spawnSync) cannot be ended; the result does not wait longer. */
const LONGEST_END_MS = 500;

export interface ThreadEvents {
  /** Its module is loaded. */
  onReady(thread: ToolThread): void;
  onIdle(thread: ToolThread): void;
  onEnded(thread: ToolThread): void;
}

export interface ThreadTimes {
  memoryPollMs: number;
  cancelGraceMs: number;
}

export class ToolThread {
  readonly key: string;
  readonly #spec: ThreadSpec;
  readonly #times: ThreadTimes;
  readonly #events: ThreadEvents;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #ended = Promise.withResolvers<void>();
  readonly #hold: ThreadHold;
  #state: "starting" | "idle" | "busy" | "ending" | "ended" = "starting";
  #call: ThreadCall | undefined;
  #calls = 0;
  #cpuMs = 0;
  #loadTimer: NodeJS.Timeout | undefined;
  #endTimer: NodeJS.Timeout | undefined;

  /** Throws when the process cannot start another thread. */
  constructor(spec: ThreadSpec, options: { times: ThreadTimes; events: ThreadEvents }) {
    this.key = spec.key;
    this.#spec = spec;
    this.#times = options.times;
    this.#events = options.events;
    this.#worker = new Worker(entryUrl(), workerOptions(spec));
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#hold = this.#createHold();
    this.#listen();
    this.#worker.postMessage({ ...threadHandover(spec), port: port2 } satisfies Handover, [port2]);
  }

  /** True while it will take another call, now or after the one it has. */
  get inService(): boolean {
    return this.#state !== "ending" && this.#state !== "ended";
  }

  /** Takes a call, when idle or new; `settle` gets its result exactly once, whatever happens to the thread. */
  run(job: Job, settle: (result: RunResult) => void): void {
    const { memoryLimitBytes } = this.#spec;
    const call = new ThreadCall(job, { hold: this.#hold, settle, memoryLimitBytes, ...this.#times });
    call.start();
    if (this.#state === "idle") this.adopt(call);
    else this.#await(call, job.timeoutMs);
  }

  /** Gives up a call that it could not begin yet, because the module still loads. */
  yieldCall(): ThreadCall | undefined {
    if (this.#state !== "starting" || this.#call === undefined) return undefined;
    const call = this.#call;
    this.#call = undefined;
    this.#worker.unref();
    return call;
  }

  /** Begins a call on the idle thread: a new one, or one that another thread gave up. */
  adopt(call: ThreadCall): void {
    this.#call = call;
    this.#state = "busy";
    this.#worker.ref();
    this.#calls += 1;
    call.send({ id: this.#calls, hold: this.#hold, cpuBeforeMs: this.#cpuMs });
  }

  /** Ends the thread; a running call is cancelled. Resolves when it is gone, or after a bounded wait. */
  async end(): Promise<void> {
    this.#call?.doom({ kind: "cancelled" });
    this.#stop();
    await this.#ended.promise;
  }

  #await(call: ThreadCall, timeoutMs: number): void {
    this.#call = call;
    const overdue = () => this.#giveUp({ kind: "timeout" });
    this.#loadTimer = setTimeout(overdue, Math.min(timeoutMs, LONGEST_TIMER_MS)).unref();
  }

  #createHold(): ThreadHold {
    return {
      listen: () => this.#drain(),
      post: (frame) => this.#port.postMessage(frame),
      measure: () => this.#measure(),
      release: (reading) => this.#release(reading),
      kill: () => this.#stop(),
    };
  }

  #listen(): void {
    this.#worker.on("error", (error) => this.#onUncaught(error));
    this.#worker.on("exit", (code) => this.#onExit(code));
    this.#port.on("message", (message) => this.#onMessage(message));
    this.#port.on("messageerror", () => this.#distrust("an unreadable message"));
    this.#port.on("close", () => this.#stop());
    this.#port.unref();
  }

  /** Ports and events are not in step: a result may have come before the news of the thread's end. */
  #drain(): void {
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port)) {
      this.#onMessage(next.message);
    }
  }

  #onUncaught(error: unknown): void {
    this.#stop();
    this.#drain();
    this.#call?.doom(uncaughtFault(error));
  }

  #onReady(threadCpuMs: number): void {
    if (this.#state !== "starting") return;
    clearTimeout(this.#loadTimer);
    this.#state = "idle";
    this.#cpuMs = threadCpuMs;
    this.#events.onReady(this);
    if (this.#call) this.adopt(this.#call);
    else this.#events.onIdle(this);
  }

  #onMessage(message: unknown): void {
    const opened = readReport(message, this.#call?.maxOutputBytes ?? 0);
    if (opened === undefined) this.#distrust("a message that is no report");
    else if (opened.report.kind === "ready") this.#onReady(opened.report.threadCpuMs);
    else if (opened.report.kind === "unusable") this.#giveUp(opened.report.fault);
    else this.#onReport(opened.report, opened.body);
  }

  #onReport(report: CallReport, body: string): void {
    // A word about a call that is over comes too late to matter.
    if (report.call > this.#calls) this.#distrust("a report about a call it was never given");
    else if (report.call === this.#call?.id) this.#call.take(report, body);
  }

  #distrust(what: string): void {
    this.#giveUp({ kind: "died", message: `the tool's thread broke the protocol: it sent ${what}` });
  }

  #giveUp(fault: RunFault): void {
    this.#call?.doom(fault);
    this.#stop();
  }

  #release(reading: Reading): void {
    this.#call = undefined;
    this.#cpuMs = reading.threadCpuMs;
    if (this.#state !== "busy") return;
    this.#state = "idle";
    this.#worker.unref();
    this.#events.onIdle(this);
  }

  async #measure(): Promise<Measurement> {
    const [heap, cpu] = await Promise.all([this.#worker.getHeapStatistics(), this.#worker.cpuUsage()]);
    return {
      threadCpuMs: (cpu.user + cpu.system) / 1_000,
      heapBytes: heap.used_heap_size,
      memoryBytes: heap.used_heap_size + heap.external_memory,
    };
  }

  #stop(): void {
    if (this.#state === "ending" || this.#state === "ended") return;
    this.#state = "ending";
    void this.#worker.terminate();
    this.#endTimer = setTimeout(() => this.#stopWaiting(), LONGEST_END_MS);
  }

  #stopWaiting(): void {
    this.#worker.unref();
    this.#call?.doom({ kind: "died", message: "the tool's thread broke off and does not stop" });
    this.#call?.conclude();
    this.#ended.resolve();
  }

  #onExit(code: number): void {
    this.#state = "ended";
    clearTimeout(this.#endTimer);
    clearTimeout(this.#loadTimer);
    this.#drain();
    this.#call?.doom({
      kind: "died",
      message: `the tool's thread ended with code ${code}${this.#lastWords()}`,
    });
    this.#call?.conclude();
    this.#call = undefined;
    this.#port.close();
    this.#ended.resolve();
    this.#events.onEnded(this);
  }

  /** What the thread passed on of its stderr when it exited (entry-output.ts). */
  #lastWords(): string {
    const said: unknown = this.#worker.stderr.read();
    if (!(said instanceof Uint8Array)) return "";
    return cleanText(`; it printed: ${said.toString().trim().slice(-MAX_WORDS_CHARS)}`);
  }
}

function uncaughtFault(error: unknown): RunFault {
  const threw = describeThrown(error);
  const outOfMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return outOfMemory ? { kind: "memory", message: threw.message } : threw;
}

function entryUrl(): URL {
  const entry = import.meta.url.endsWith(".ts") ? "./thread-entry.ts" : "./thread-entry.js";
  return new URL(entry, import.meta.url);
}
