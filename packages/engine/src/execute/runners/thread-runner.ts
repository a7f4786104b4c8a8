import { availableParallelism } from "node:os";
import type { Isolation } from "@sallyport/protocol";
import type { Job, Runner, RunResult } from "../../ports/runner.ts";
import { IN_PROCESS_ENFORCEMENT } from "../confinement.ts";
import { refused } from "./outcome-latch.ts";
import { type CallHolder, ThreadCall } from "./thread-call.ts";
import { describeThrown } from "./tool-result.ts";
import { type ThreadEvents, ToolThread } from "./tool-thread.ts";
import { isModule } from "./wire.ts";

const ISOLATION: Isolation = Object.freeze({ level: "LEVEL_0", runner: "thread" });

export interface ThreadRunnerOptions {
  /** Threads alive at once; further jobs wait in line. */
  maxThreads?: number;
  /** Threads kept warm while nothing runs on them. */
  maxIdleThreads?: number;
  /** How long an idle thread is kept. */
  idleMs?: number;
  /** How often a running call's memory is read; calls shorter than this are seldom disturbed. */
  memoryPollMs?: number;
  /** How long a cancelled tool may tidy up before its thread is ended. */
  cancelGraceMs?: number;
}

export interface ThreadRunner extends Runner {
  /** For metrics and leak checks. */
  counts(): ThreadCounts;
}

/**
 * Runs tool modules in worker threads. Whatever a tool does to its own thread becomes a result, and its deadline and memory
 * limit hold; but a thread is not a security boundary (docs/runners.md).
 */
export function createThreadRunner(options: ThreadRunnerOptions = {}): ThreadRunner {
  const { maxThreads = 32, idleMs = 10_000, memoryPollMs = 25, cancelGraceMs = 50 } = options;
  const maxIdleThreads = options.maxIdleThreads ?? Math.ceil(maxThreads / 2);
  const pool = new ThreadPool({ maxThreads, maxIdleThreads, idleMs, memoryPollMs, cancelGraceMs });
  return {
    kind: "thread",
    isolation: ISOLATION,
    enforcement: IN_PROCESS_ENFORCEMENT.thread,
    run: (job) => {
      if (isModule(job.implementation)) return pool.run(job, job.implementation.moduleUrl);
      return refused({ kind: "died", message: `${job.tool} is not a module that a thread can load` });
    },
    counts: () => pool.counts,
    retire: (tool) => pool.retire(tool),
    close: () => pool.close(),
  };
}

/** Loading takes processor time; a thread that still has not loaded after this long holds nobody up. */
const LONGEST_START_MS = 250;
/** While another thread of the same kind is at work, a job waits this long for it before it gets its own. */
const GROW_AFTER_MS = 50;

// Threads are born for a job, kept warm for the next one with the same key, and never shared across keys. A job gets, in
// this order: an idle thread of its key; a new thread, while there are fewer than maxThreads and one more would help; else
// a place in line, and when it is maxThreads that stands in the way, an idle thread of another key is ended. The line is
// strictly first come, first served: a thread that is free takes the first in line, and with it as many of those right
// behind as have its key and fit into a batch. A thread counts until it has really exited, so the limit holds at every
// moment.
//
// Short calls are served fastest by few threads (2 processors, 64 callers: 14,000 calls a second with 2 to 4 threads, 1,200
// with 32), calls that wait or never end need one each. So a key's first thread starts at once, another one only for a job
// that has waited although no thread of its key gets through its calls quickly, and no more at the same time than there are
// processors to load them.

interface ThreadCounts {
  /** Every thread that has not exited yet, those being ended included. */
  live: number;
  idle: number;
  waiting: number;
}

class ThreadPool {
  readonly #options: Required<ThreadRunnerOptions>;
  readonly #byKey = new Map<string, ToolThread[]>();
  #line: ThreadCall[] = [];
  readonly #events: ThreadEvents = {
    onReady: () => this.#serveLine(),
    onIdle: (thread) => this.#onIdle(thread),
    onTakenBack: (calls) => this.#onTakenBack(calls),
    onEnded: (thread) => this.#onEnded(thread),
  };
  /** For calls that wait in line. */
  readonly #lineHolder: CallHolder = {
    askToStop: () => 0,
    listen: () => undefined,
    letGo: (call) => {
      this.#line = this.#line.filter((other) => other !== call);
      return true;
    },
  };
  #growTimer: NodeJS.Timeout | undefined;
  #watchTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: Required<ThreadRunnerOptions>) {
    this.#options = options;
  }

  get counts(): ThreadCounts {
    const threads = this.#threads();
    const idle = threads.filter(({ state }) => state === "idle");
    return { live: threads.length, idle: idle.length, waiting: this.#line.length };
  }

  /** Never rejects. After `close` every job is cancelled at once. */
  run(job: Job, moduleUrl: string): Promise<RunResult> {
    if (this.#closed || job.signal.aborted) return Promise.resolve(refused({ kind: "cancelled" }));
    return new Promise((settle) => {
      const call = new ThreadCall(job, moduleUrl, settle);
      if (this.#line.length === 0 && this.#place(call)) return;
      call.holder = this.#lineHolder;
      this.#line.push(call);
      this.#lookAgain();
    });
  }

  /** Ends the idle threads with a tool's code at once, and the others after their call. Jobs in line still run. */
  async retire(tool: string): Promise<void> {
    const threads = this.#threads().filter(({ spec }) => spec.tool === tool);
    for (const { spec } of [...threads, ...this.#line]) if (spec.tool === tool) spec.retired = true;
    await Promise.all(threads.filter(({ state }) => state === "idle").map((idle) => idle.end()));
  }

  /** Cancels what runs and waits, and ends every thread; waits for them, but not for ever. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#growTimer);
    for (const call of [...this.#line]) call.latch.cancel();
    await Promise.all(this.#threads().map((thread) => thread.end()));
  }

  #threads(): ToolThread[] {
    return [...this.#byKey.values()].flat();
  }

  /** Gives the call to a thread, and those right behind it in line too. False when no thread is free. */
  #place(call: ThreadCall): boolean {
    const threads = this.#byKey.get(call.spec.key) ?? [];
    if (hasTurnSoon(threads)) return false;
    const idle = threads.findLast(({ state }) => state === "idle");
    if (!idle && !this.#mayStart(call, threads)) return false;
    if (this.#line[0] === call) this.#line.shift();
    if (idle) this.#sendBatch(idle, call);
    else this.#start(call, threads);
    if (!this.#watchTimer) this.#watchTimer = setInterval(this.#watch, this.#options.memoryPollMs).unref();
    return true;
  }

  #sendBatch(thread: ToolThread, first: ThreadCall): void {
    const batch = [first];
    while (batch.length < thread.batchSize && this.#line[0]?.spec.key === thread.spec.key) {
      batch.push(...this.#line.splice(0, 1));
    }
    for (const call of batch) call.giveTo(thread);
    thread.send(batch);
  }

  #mayStart(call: ThreadCall, threads: readonly ToolThread[]): boolean {
    const hasWaited = performance.now() - call.since >= GROW_AFTER_MS;
    if (threads.some((thread) => (hasWaited ? thread.suffices : thread.inService))) return false;
    const all = this.#threads();
    const youngest = performance.now() - LONGEST_START_MS;
    const starting = all.filter(({ state, startedAt }) => state === "starting" && startedAt > youngest);
    return all.length < this.#options.maxThreads && starting.length < availableParallelism();
  }

  #start(call: ThreadCall, threads: readonly ToolThread[]): void {
    try {
      const thread = new ToolThread(call.spec, { ...this.#options, events: this.#events });
      this.#byKey.set(call.spec.key, [...threads, thread]);
      thread.startFor(call);
    } catch (error) {
      const { message } = describeThrown(error);
      call.latch.fail({ kind: "died", message: `no thread could be started: ${message}` });
    }
  }

  readonly #watch = (): void => {
    const active = this.#threads().filter((thread) => thread.watch());
    if (active.length > 0) return;
    clearInterval(this.#watchTimer);
    this.#watchTimer = undefined;
  };

  readonly #serveLine = (): void => {
    for (let [head] = this.#line; head !== undefined && this.#place(head); [head] = this.#line);
    this.#lookAgain();
  };

  /** Sees to it that somebody comes back for those in line: an ending thread, or the clock. */
  #lookAgain(): void {
    const [head] = this.#line;
    if (!head || this.#growTimer) return;
    const threads = this.#threads();
    if (threads.length < this.#options.maxThreads || hasTurnSoon(this.#byKey.get(head.spec.key) ?? [])) {
      this.#growTimer = setTimeout(() => {
        this.#growTimer = undefined;
        this.#serveLine();
      }, GROW_AFTER_MS);
      return;
    }
    const ending = threads.filter(({ state }) => state === "ending");
    const idle = byAge(threads).slice(0, Math.max(0, this.#line.length - ending.length));
    for (const thread of idle) void thread.end();
  }

  #onIdle(thread: ToolThread): void {
    if (thread.spec.retired || this.#closed) return void thread.end();
    const early = this.#yieldedCall(thread.spec.key);
    if (early) {
      early.holder = thread;
      thread.send([early]);
      return;
    }
    if (this.#line.length > 0) this.#serveLine();
    const idle = byAge(this.#threads());
    if (idle.length > this.#options.maxIdleThreads) void idle[0]?.end();
  }

  /** A call that waits for its thread to load goes before everybody in line: it came earlier. */
  #yieldedCall(key: string): ThreadCall | undefined {
    for (const thread of this.#byKey.get(key) ?? []) {
      const call = thread.yieldCall();
      if (call) return call;
    }
    return undefined;
  }

  /** They came before everybody in line. */
  #onTakenBack(calls: ThreadCall[]): void {
    for (const call of calls) {
      call.holder = this.#lineHolder;
      call.id = 0;
    }
    this.#line.unshift(...calls);
    if (this.#closed) for (const call of calls) call.latch.cancel();
    else this.#serveLine();
  }

  #onEnded(thread: ToolThread): void {
    const { key } = thread.spec;
    const others = this.#byKey.get(key)?.filter((other) => other !== thread) ?? [];
    if (others.length > 0) this.#byKey.set(key, others);
    else this.#byKey.delete(key);
    this.#serveLine();
  }
}

/** Whether a busy thread takes the next call with its next batch, where it costs no wake-up of its own. */
function hasTurnSoon(threads: readonly ToolThread[]): boolean {
  return threads.some((thread) => thread.state === "busy" && thread.suffices);
}

/** The idle ones, the one that has been idle longest first. */
function byAge(threads: readonly ToolThread[]): ToolThread[] {
  return threads.filter(({ state }) => state === "idle").toSorted((a, b) => a.idleSince - b.idleSince);
}
