import { availableParallelism } from "node:os";
import type { Isolation } from "@sallyport/protocol";
import type { Job, Runner, RunResult } from "../../ports/runner.ts";
import { timerMs } from "../../timeouts.ts";
import { IN_PROCESS_ENFORCEMENT } from "../confinement.ts";
import { refused } from "./outcome-latch.ts";
import { type CallHolder, ThreadCall, type ThreadSpec } from "./thread-call.ts";
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
    isolation: ISOLATION,
    enforcement: IN_PROCESS_ENFORCEMENT.thread,
    run: (job) => runJob(pool, job),
    counts: () => pool.counts,
    retire: (tool) => pool.retire(tool),
    close: () => pool.close(),
  };
}

function runJob(pool: ThreadPool, job: Job): Promise<RunResult> {
  if (job.signal.aborted) return Promise.resolve(refused({ kind: "cancelled" }));
  if (isModule(job.implementation, "thread")) return pool.run(job, job.implementation.moduleUrl);
  const message = `${job.tool} is not a module that a thread can load`;
  return Promise.resolve(refused({ kind: "died", message }));
}

/** Loading takes processor time; a thread that still has not loaded after this long holds nobody up. */
const LONGEST_START_MS = 250;
/** While another thread of the same kind is at work, a job waits this long for it before it gets its own. */
const GROW_AFTER_MS = 50;

/**
 * Decides when one more thread helps. Short calls are served fastest by few threads (2 processors, 64 callers:
 * 14,000 calls a second with 2 to 4 threads, 1,200 with 32), calls that wait or never end need one each. So a tool's first
 * thread starts at once, another one only for a job that has waited although no thread of its key gets through its calls
 * quickly, and no more at the same time than there are processors to load them.
 */
class ThreadGrowth {
  readonly #starting = new Map<ToolThread, NodeJS.Timeout>();
  readonly #mostStarting = availableParallelism();
  readonly #onRoom: () => void;

  constructor(onRoom: () => void) {
    this.#onRoom = onRoom;
  }

  allows(call: ThreadCall, threads: Iterable<ToolThread>): boolean {
    if (this.#starting.size >= this.#mostStarting) return false;
    const hasWaited = performance.now() - call.since >= GROW_AFTER_MS;
    for (const thread of threads) {
      if (thread.spec.key !== call.spec.key) continue;
      if (hasWaited ? thread.suffices : thread.inService) return false;
    }
    return true;
  }

  started(thread: ToolThread): void {
    const timer = setTimeout(() => this.settled(thread), LONGEST_START_MS);
    this.#starting.set(thread, timer.unref());
  }

  /** It has loaded, ended, or taken too long: others may start. */
  settled(thread: ToolThread): void {
    const timer = this.#starting.get(thread);
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#starting.delete(thread);
    this.#onRoom();
  }
}

/**
 * Threads kept warm. Each has one timer for life, restarted whenever it comes back, so that a busy thread costs no timers;
 * a timer that fires while its thread is out does nothing. No timer keeps the process alive.
 */
class IdleThreads {
  /** The one that has been here longest comes first. */
  readonly #threads = new Set<ToolThread>();
  /** The one that was used last comes last. */
  readonly #byKey = new Map<string, ToolThread[]>();
  readonly #timers = new Map<ToolThread, NodeJS.Timeout>();
  readonly #idleMs: number;
  readonly #onTooLong: (thread: ToolThread) => void;

  constructor(idleMs: number, onTooLong: (thread: ToolThread) => void) {
    this.#idleMs = idleMs;
    this.#onTooLong = onTooLong;
  }

  get size(): number {
    return this.#threads.size;
  }

  add(thread: ToolThread): void {
    const { key } = thread.spec;
    this.#threads.add(thread);
    this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), thread]);
    const timer = this.#timers.get(thread);
    if (timer) timer.refresh();
    else this.#timers.set(thread, setTimeout(() => this.#expire(thread), timerMs(this.#idleMs)).unref());
  }

  /** The thread of that key that was used last, if one is here and in service. */
  take(key: string): ToolThread | undefined {
    const thread = this.#byKey.get(key)?.findLast(({ inService }) => inService);
    if (thread) this.remove(thread);
    return thread;
  }

  takeOldest(): ToolThread | undefined {
    const [oldest] = this.#threads;
    if (oldest) this.remove(oldest);
    return oldest;
  }

  /** The thread is never coming back. */
  forget(thread: ToolThread): void {
    this.remove(thread);
    clearTimeout(this.#timers.get(thread));
    this.#timers.delete(thread);
  }

  /** False when it is not here. */
  remove(thread: ToolThread): boolean {
    if (!this.#threads.delete(thread)) return false;
    const { key } = thread.spec;
    const others = (this.#byKey.get(key) ?? []).filter((other) => other !== thread);
    if (others.length > 0) this.#byKey.set(key, others);
    else this.#byKey.delete(key);
    return true;
  }

  #expire(thread: ToolThread): void {
    if (this.remove(thread)) this.#onTooLong(thread);
  }
}

// Threads are born for a job, kept warm for the next one with the same key, and never shared across keys. A job gets, in
// this order: an idle thread of its key; a new thread, while there are fewer than maxThreads and one more would help
// (`ThreadGrowth`); else a place in line, and when it is maxThreads that stands in the way, an idle thread of another key
// is ended. The line is strictly first come, first served: a thread that is free takes the first in line, and with it as
// many of those right behind as have its key and fit into a batch. A thread counts until it has really exited, so the
// limit holds at every moment.

interface ThreadPoolOptions extends Required<ThreadRunnerOptions> {}

export interface ThreadCounts {
  /** Every thread that has not exited yet, those being ended included. */
  live: number;
  idle: number;
  waiting: number;
}

class ThreadPool {
  readonly #options: ThreadPoolOptions;
  readonly #threads = new Set<ToolThread>();
  readonly #idle: IdleThreads;
  readonly #ending = new Set<ToolThread>();
  #line: ThreadCall[] = [];
  readonly #growth = new ThreadGrowth(() => this.#serveLine());
  readonly #events: ThreadEvents = {
    onReady: (thread) => this.#growth.settled(thread),
    onIdle: (thread) => this.#onIdle(thread),
    onTakenBack: (calls) => this.#onTakenBack(calls),
    onEnded: (thread) => this.#onEnded(thread),
  };
  /** A call that waits in line. */
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

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
    this.#idle = new IdleThreads(options.idleMs, (thread) => void this.#end(thread));
  }

  get counts(): ThreadCounts {
    return { live: this.#threads.size, idle: this.#idle.size, waiting: this.#line.length };
  }

  /** Never rejects. After `close` every job is cancelled at once. */
  run(job: Job, moduleUrl: string): Promise<RunResult> {
    if (this.#closed) return Promise.resolve(refused({ kind: "cancelled" }));
    return new Promise((settle) => {
      const call = new ThreadCall(job, moduleUrl, settle);
      if (this.#line.length === 0 && this.#place(call)) return;
      call.waitIn(this.#lineHolder);
      this.#line.push(call);
      this.#lookAgain();
    });
  }

  /** Ends the idle threads with a tool's code at once, and the others after their call. Jobs in line still run. */
  async retire(tool: string): Promise<void> {
    const threads = [...this.#threads].filter(({ spec }) => spec.tool === tool);
    for (const { spec } of [...threads, ...this.#line]) if (spec.tool === tool) spec.retired = true;
    await Promise.all(threads.filter((thread) => this.#idle.remove(thread)).map((idle) => this.#end(idle)));
  }

  /** Cancels what runs and waits, and ends every thread; waits for them, but not for ever. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#growTimer);
    for (const call of [...this.#line]) call.latch.cancel();
    await Promise.all([...this.#threads].map((thread) => this.#end(thread)));
  }

  /** Gives the call to a thread, and those right behind it in line too. False when no thread is free. */
  #place(call: ThreadCall): boolean {
    if (this.#hasTurnSoon(call)) return false;
    const thread = this.#idle.take(call.spec.key);
    if (thread) {
      this.#sendBatch(thread, call);
      return true;
    }
    if (this.#threads.size >= this.#options.maxThreads || !this.#growth.allows(call, this.#threads))
      return false;
    this.#leaveLine(call);
    try {
      this.#start(call.spec).startFor(call);
      this.#startWatching();
    } catch (error) {
      const { message } = describeThrown(error);
      call.latch.fail({ kind: "died", message: `no thread could be started: ${message}` });
    }
    return true;
  }

  /** Whether a busy thread takes it with its next batch, where it costs no wake-up of its own. */
  #hasTurnSoon({ spec: { key } }: ThreadCall): boolean {
    for (const thread of this.#threads)
      if (thread.spec.key === key && thread.isBusy && thread.suffices) return true;
    return false;
  }

  #sendBatch(thread: ToolThread, first: ThreadCall): void {
    this.#leaveLine(first);
    const batch = [first];
    const { key } = thread.spec;
    while (batch.length < thread.batchSize && this.#line[0]?.spec.key === key) {
      const next = this.#line.shift();
      if (next) batch.push(next);
    }
    for (const call of batch) call.giveTo(thread);
    thread.send(batch);
    this.#startWatching();
  }

  #leaveLine(head: ThreadCall): void {
    if (this.#line[0] === head) this.#line.shift();
  }

  #start(spec: ThreadSpec): ToolThread {
    const { cancelGraceMs } = this.#options;
    const thread = new ToolThread(spec, { cancelGraceMs, events: this.#events });
    this.#threads.add(thread);
    this.#growth.started(thread);
    return thread;
  }

  #startWatching(): void {
    this.#watchTimer ??= setInterval(this.#watch, this.#options.memoryPollMs).unref();
  }

  readonly #watch = (): void => {
    const active = [...this.#threads].filter((thread) => thread.watch());
    if (active.length > 0) return;
    clearInterval(this.#watchTimer);
    this.#watchTimer = undefined;
  };

  #serveLine(): void {
    for (let [head] = this.#line; head !== undefined && this.#place(head); [head] = this.#line);
    this.#lookAgain();
  }

  /** Sees to it that somebody comes back for those in line: an ending thread, or the clock. */
  #lookAgain(): void {
    const [head] = this.#line;
    if (!head) return;
    if (this.#threads.size < this.#options.maxThreads || this.#hasTurnSoon(head)) {
      this.#growTimer ??= setTimeout(this.#onGrowTimer, GROW_AFTER_MS);
    } else {
      while (this.#ending.size < this.#line.length && this.#idle.size > 0) this.#endOldest();
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
    if (thread.spec.retired || this.#closed) return void this.#end(thread);
    const early = this.#yieldedCall(thread.spec.key);
    if (early) {
      early.moveTo(thread);
      thread.send([early]);
    } else this.#keep(thread);
  }

  /** A call that waits for its thread to load goes before everybody in line: it came earlier. */
  #yieldedCall(key: string): ThreadCall | undefined {
    for (const thread of this.#threads) {
      const call = thread.spec.key === key ? thread.yieldCall() : undefined;
      if (call) return call;
    }
    return undefined;
  }

  #keep(thread: ToolThread): void {
    this.#idle.add(thread);
    if (this.#line.length > 0) this.#serveLine();
    if (this.#idle.size > this.#options.maxIdleThreads) this.#endOldest();
  }

  /** They came before everybody in line. */
  #onTakenBack(calls: ThreadCall[]): void {
    for (const call of calls) call.waitIn(this.#lineHolder);
    this.#line.unshift(...calls);
    if (this.#closed) for (const call of calls) call.latch.cancel();
    else this.#serveLine();
  }

  #onEnded(thread: ToolThread): void {
    this.#idle.forget(thread);
    this.#threads.delete(thread);
    this.#ending.delete(thread);
    this.#growth.settled(thread);
    this.#serveLine();
  }
}
