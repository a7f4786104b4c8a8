import { AsyncLocalStorage } from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";

/** A process of the simulation, as far as time is concerned: one that is frozen does what is due when it goes on. */
export class SimulatedProcess {
  readonly name: string;
  #state: "running" | "frozen" | "dead" = "running";
  readonly #held: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  /** Does it now, or when the process goes on; never, when it does not. */
  act(action: () => void): void {
    if (this.#state === "running") action();
    else if (this.#state === "frozen") this.#held.push(action);
  }

  freeze(): void {
    if (this.#state === "running") this.#state = "frozen";
  }

  goOn(): void {
    if (this.#state !== "frozen") return;
    this.#state = "running";
    for (const action of this.#held.splice(0)) action();
  }

  kill(): void {
    this.#state = "dead";
    this.#held.length = 0;
  }
}

interface Timer {
  at: number;
  action: () => void;
  every: number | undefined;
  process: SimulatedProcess | undefined;
}

/** The first moment of every simulation. */
const BEGINNING = 1_767_225_600_000;
const turnOfTheLoop = setImmediate;

/**
 * Time that passes only when nothing is left to be done now. While it is in force the platform's timers are its own; each
 * belongs to the process whose code has set it. The same work in the same order gives the same order of everything.
 */
export class SimulatedTime {
  #now = 0;
  /** The next one last. */
  readonly #timers: Timer[] = [];
  readonly #within = new AsyncLocalStorage<SimulatedProcess>();

  /** Unix milliseconds. */
  get now(): number {
    return BEGINNING + this.#now;
  }

  /** Since the beginning. */
  get elapsed(): number {
    return this.#now;
  }

  /** Runs code of a process: the timers it sets, at once or later, are the process's. */
  within<Result>(process: SimulatedProcess, run: () => Result): Result {
    return this.#within.run(process, run);
  }

  /** Waits outside of every process. */
  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.#set(resolve, ms, { process: undefined }));
  }

  /** Lets time pass until the work is done. Rejects as it does, or when nothing can happen any more and it is not. */
  async until<Result>(work: Promise<Result>): Promise<Result> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    work.then(over, over);
    for (;;) {
      await new Promise((resolve) => turnOfTheLoop(resolve));
      if (isOver) return await work;
      const timer = this.#timers.pop();
      if (!timer) throw new Error("Nothing can happen any more.");
      this.#now = Math.max(this.#now, timer.at);
      const { process, action, every } = timer;
      if (process?.isDead) continue;
      if (every !== undefined) this.#insert(Object.assign(timer, { at: this.#now + every }));
      if (process) process.act(action);
      else action();
    }
  }

  /** Takes the place of the platform's timers; returns how to give it back. */
  install(): () => void {
    const real = { ...timersPromises };
    const globals = ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval"] as const;
    const kept = globals.map((name) => [name, globalThis[name]] as const);
    const { now: realNow } = Date;
    const realTimeout = AbortSignal.timeout;
    const clear = (handle?: { clear?: () => void }) => handle?.clear?.();
    Object.assign(globalThis, {
      setTimeout: (action: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
        this.#handle(() => action(...args), ms),
      setInterval: (action: () => void, ms: number) => this.#handle(action, ms, ms),
      setImmediate: (action: () => void) => this.#handle(action, 0),
      clearTimeout: clear,
      clearInterval: clear,
    });
    Object.assign(timersPromises, { setTimeout: this.#sleep });
    syncBuiltinESMExports();
    Date.now = () => this.now;
    performance.now = () => this.#now;
    AbortSignal.timeout = (ms) => {
      const controller = new AbortController();
      this.#set(() => controller.abort(), ms);
      return controller.signal;
    };
    return () => {
      Object.assign(globalThis, Object.fromEntries(kept));
      Object.assign(timersPromises, real);
      syncBuiltinESMExports();
      Date.now = realNow;
      Reflect.deleteProperty(performance, "now");
      AbortSignal.timeout = realTimeout;
    };
  }

  readonly #sleep = (ms = 0, value?: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      const abort = () => reject(signal?.reason);
      if (signal?.aborted) return abort();
      const timer = this.#set(() => {
        signal?.removeEventListener("abort", abort);
        resolve(value);
      }, ms);
      signal?.addEventListener("abort", () => this.#drop(timer), { once: true });
      signal?.addEventListener("abort", abort, { once: true });
      return undefined;
    });

  #handle(action: () => void, ms: number, every?: number) {
    const timer = this.#set(action, ms, { every });
    const handle = { ref: () => handle, unref: () => handle, clear: () => this.#drop(timer) };
    return handle;
  }

  #set(action: () => void, ms: number, given: Partial<Timer> = {}): Timer {
    const at = this.#now + Math.max(0, ms);
    const process = this.#within.getStore();
    const within = process ? () => this.#within.run(process, action) : action;
    return this.#insert({ at, action: within, every: undefined, process, ...given });
  }

  #insert(timer: Timer): Timer {
    const index = this.#timers.findLastIndex((other) => other.at > timer.at);
    this.#timers.splice(index + 1, 0, timer);
    return timer;
  }

  #drop(timer: Timer): void {
    const index = this.#timers.indexOf(timer);
    if (index >= 0) this.#timers.splice(index, 1);
  }
}
