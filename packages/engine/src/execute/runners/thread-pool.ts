import type { Job, RunResult } from "../../ports/runner.ts";
import { describeThrown } from "./describe-thrown.ts";
import { IdleThreads } from "./idle-threads.ts";
import type { ThreadCall } from "./thread-call.ts";
import { GROW_AFTER_MS, ThreadGrowth } from "./thread-growth.ts";
import { specFor, type ThreadSpec } from "./thread-spec.ts";
import { type ThreadEvents, type ThreadTimes, ToolThread } from "./tool-thread.ts";
import { type Waiter, WaitingLine } from "./waiting-line.ts";

// Threads are born for a job, kept warm for the next one with the same key, and never shared across keys.
// A job gets, in this order: an idle thread of its key; a new thread, while there are fewer than maxThreads and
// one more would help (thread-growth.ts); else a place in line, and when it is maxThreads that stands in the way,
// an idle thread of another key is ended. The line is strictly first come, first served. A thread counts until
// it has really exited, so the limit holds at every moment.

export interface ThreadPoolOptions extends ThreadTimes {
  maxThreads: number;
  maxIdleThreads: number;
  idleMs: number;
}

export interface ThreadCounts {
  /** Every thread that has not exited yet, those being ended included. */
  live: number;
  idle: number;
  waiting: number;
}

export class ThreadPool {
  readonly #options: ThreadPoolOptions;
  readonly #threads = new Set<ToolThread>();
  readonly #idle: IdleThreads;
  readonly #ending = new Set<ToolThread>();
  readonly #line = new WaitingLine();
  readonly #growth = new ThreadGrowth(() => this.#serveLine());
  readonly #events: ThreadEvents = {
    onReady: (thread) => this.#growth.settled(thread),
    onIdle: (thread) => this.#onIdle(thread),
    onEnded: (thread) => this.#onEnded(thread),
  };
  #growTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
    this.#idle = new IdleThreads(options.idleMs, (thread) => void this.#end(thread));
  }

  get counts(): ThreadCounts {
    return { live: this.#threads.size, idle: this.#idle.size, waiting: this.#line.size };
  }

  /** Never rejects. After `close` every job is cancelled at once. */
  run(job: Job, moduleUrl: string): Promise<RunResult> {
    return new Promise((settle) => {
      const waiter = { job, spec: specFor(job, moduleUrl), since: performance.now(), settle };
      if (this.#closed) return settle(failed({ kind: "cancelled" }));
      if (this.#line.size === 0 && this.#place(waiter)) return;
      this.#line.join(waiter);
      this.#lookAgain();
    });
  }

  /** Cancels what runs and waits, and ends every thread; waits for them, but not for ever. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#line.close();
    await Promise.all([...this.#threads].map((thread) => this.#end(thread)));
  }

  #place(waiter: Waiter): boolean {
    const thread = this.#idle.take(waiter.spec.key);
    if (thread === undefined && !this.#mayStart(waiter)) return false;
    try {
      (thread ?? this.#start(waiter.spec)).run(waiter.job, waiter.settle);
    } catch (error) {
      const { message } = describeThrown(error);
      waiter.settle(failed({ kind: "died", message: `no thread could be started: ${message}` }));
    }
    return true;
  }

  #mayStart(waiter: Waiter): boolean {
    return this.#threads.size < this.#options.maxThreads && this.#growth.allows(waiter, this.#threads);
  }

  #start(spec: ThreadSpec): ToolThread {
    const thread = new ToolThread(spec, { times: this.#options, events: this.#events });
    this.#threads.add(thread);
    this.#growth.started(thread);
    return thread;
  }

  #serveLine(): void {
    for (let head = this.#line.head; head !== undefined; head = this.#line.head) {
      if (!this.#place(head)) break;
      this.#line.leave(head);
    }
    if (this.#line.size > 0) this.#lookAgain();
  }

  /** Sees to it that somebody comes back for those in line: an ending thread, or the clock. */
  #lookAgain(): void {
    if (this.#threads.size < this.#options.maxThreads) {
      this.#growTimer ??= setTimeout(this.#onGrowTimer, GROW_AFTER_MS);
    } else {
      while (this.#ending.size < this.#line.size && this.#idle.size > 0) this.#endOldest();
    }
  }

  readonly #onGrowTimer = (): void => {
    this.#growTimer = undefined;
    this.#serveLine();
  };

  #endOldest(): void {
    const oldest = this.#idle.takeOldest();
    if (oldest) void this.#end(oldest);
  }

  #end(thread: ToolThread): Promise<void> {
    this.#ending.add(thread);
    return thread.end();
  }

  #onIdle(thread: ToolThread): void {
    const early = this.#yieldedCall(thread.key);
    if (early) thread.adopt(early);
    else this.#keep(thread);
  }

  /** A call that waits for its thread to load goes before everybody in line: it came earlier. */
  #yieldedCall(key: string): ThreadCall | undefined {
    for (const thread of this.#threads) {
      const call = thread.key === key ? thread.yieldCall() : undefined;
      if (call) return call;
    }
    return undefined;
  }

  #keep(thread: ToolThread): void {
    this.#idle.add(thread);
    if (this.#line.size > 0) this.#serveLine();
    if (this.#idle.size > this.#options.maxIdleThreads) this.#endOldest();
  }

  #onEnded(thread: ToolThread): void {
    this.#idle.forget(thread);
    this.#threads.delete(thread);
    this.#ending.delete(thread);
    this.#growth.settled(thread);
    this.#serveLine();
  }
}

function failed(fault: Extract<RunResult, { ok: false }>["fault"]): RunResult {
  return { ok: false, fault, usage: { cpuMs: 0, memoryPeakBytes: 0 } };
}
