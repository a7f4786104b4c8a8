import { randomUUID } from "node:crypto";
import type { Sandbox, SandboxOrder } from "../../ports/sandbox.ts";
import { timerMs } from "../../timeouts.ts";
import { ScriptProcess } from "./script-process.ts";
import { type ScriptSpec, withoutLimits } from "./script-spec.ts";

/** From the start until the module is loaded, at most. */
const LONGEST_LOAD_MS = 30_000;
/** Processor time that loading may take; it is taken off what the call has used. A tool that needs more stays cold. */
const LOAD_CPU_MS = 2_000;

// Processes started ahead of the calls they are for (L3-EXE-3). Each serves one call and is never used again.
// A call takes one that waits under its key, or starts its own. After a call has started, warm or cold, its key is queued
// for refill; never before one real start succeeded, because only a start checks the bounds of the agent. Queued keys are
// filled up in the background, one process at a time, so that a burst of calls never becomes a burst of starts. A key whose
// process does not load leaves the queue until the next call asks for it. Where the pool is full, a process that has waited
// long makes room for another key; a young one does not, or two busy keys would take turns at killing each other's.

export interface PoolOptions {
  /** Processes that wait for the same kind of call. */
  perKey?: number;
  /** Processes that wait, or load, in all. */
  total?: number;
  /** How long one waits before it is ended. */
  idleMs?: number;
}

export interface PoolCounts {
  /** All that have not ended, those being ended included. */
  live: number;
  ready: number;
}

/** The calls that took the last one are let go ahead of its replacement. */
const REFILL_AFTER_MS = 10;
const OLD_AFTER_SHARE = 0.25;

/** See the top of the file. */
export class SandboxPool {
  readonly #sandbox: Sandbox;
  readonly #options: Required<PoolOptions>;
  readonly #warm = new Set<ScriptProcess>();
  readonly #wanted = new Map<string, ScriptSpec>();
  readonly #retirements = new Map<string, number>();
  #filling: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(sandbox: Sandbox, { perKey = 2, total = 8, idleMs = 60_000 }: PoolOptions = {}) {
    this.#sandbox = sandbox;
    this.#options = { perKey, total, idleMs };
  }

  get counts(): PoolCounts {
    return { live: this.#warm.size, ready: [...this.#warm].filter(({ isReady }) => isReady).length };
  }

  /** One that waits for just this kind of call; it belongs to the caller now. */
  take({ key }: ScriptSpec): ScriptProcess | undefined {
    for (const warm of this.#warm) {
      if (warm.spec.key !== key || !warm.claim()) continue;
      this.#warm.delete(warm);
      return warm;
    }
    return undefined;
  }

  /** Another call of that kind may come. Only for a spec that a call was just started or served with. */
  want(spec: ScriptSpec): void {
    if (this.#closed) return;
    this.#wanted.set(spec.key, spec);
    this.#timer ??= setTimeout(() => this.#startFilling(), REFILL_AFTER_MS).unref();
  }

  /** How often a tool was retired: a call that began before the last time may not ask for more of its code. */
  retirements(tool: string): number {
    return this.#retirements.get(tool) ?? 0;
  }

  /** Ends those that hold a tool's code: it was replaced, or must not run any more. */
  async retire(tool: string): Promise<void> {
    this.#retirements.set(tool, this.retirements(tool) + 1);
    for (const [key, { wanted }] of this.#wanted) if (wanted.tool === tool) this.#wanted.delete(key);
    await Promise.all(
      [...this.#warm].filter(({ spec }) => spec.wanted.tool === tool).map((warm) => warm.end()),
    );
  }

  /** Ends them all, and waits for it. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#wanted.clear();
    await Promise.all([...this.#warm].map((warm) => warm.end()));
    await this.#filling;
  }

  #startFilling(): void {
    this.#timer = undefined;
    this.#filling ??= this.#fill().finally(() => {
      this.#filling = undefined;
    });
  }

  async #fill(): Promise<void> {
    for (let spec = this.#nextSpec(); spec; spec = this.#nextSpec()) {
      const isReady = (await this.#makeRoom(spec.key)) && (await this.#startOne(spec));
      if (!isReady) this.#wanted.delete(spec.key);
    }
  }

  #nextSpec(): ScriptSpec | undefined {
    for (const [key, spec] of this.#wanted) {
      const waiting = [...this.#warm].filter((warm) => warm.spec.key === key).length;
      if (waiting < this.#options.perKey) return spec;
      this.#wanted.delete(key);
    }
    return undefined;
  }

  async #makeRoom(key: string): Promise<boolean> {
    if (this.#warm.size < this.#options.total) return true;
    const oldEnough = performance.now() - this.#options.idleMs * OLD_AFTER_SHARE;
    // They were loaded one after the other, so the oldest comes first.
    const oldest = [...this.#warm].find(
      ({ isReady, spec, loadedAt = Infinity }) => isReady && spec.key !== key && loadedAt < oldEnough,
    );
    await oldest?.end();
    return this.#warm.size < this.#options.total;
  }

  /** True when it is ready. A start that fails is told to the next call, which then makes its own. */
  async #startOne(spec: ScriptSpec): Promise<boolean> {
    const startedAt = performance.now();
    const process = await this.#sandbox.start(warmOrder(spec, this.#options.idleMs)).catch(() => undefined);
    if (!process) return false;
    const warm = new ScriptProcess(process, spec, startedAt);
    this.#warm.add(warm);
    const endAfter = (ms: number) => setTimeout(() => void warm.end(), timerMs(ms));
    let timer = endAfter(LONGEST_LOAD_MS);
    void process.ended.then(() => {
      this.#warm.delete(warm);
      clearTimeout(timer);
    });
    if (this.#closed || !this.#wanted.has(spec.key)) await warm.end();
    await warm.settled;
    clearTimeout(timer);
    if (warm.isReady) timer = endAfter(this.#options.idleMs).unref();
    return warm.isReady;
  }
}

/**
 * The order for a process that will wait. It is the call's own order but for its time: wall and processor time of the
 * call count from the claim, and the runner sees to them; the sandbox is given so much more that it only ends what the
 * runner forgot. The agent's bounds for these two were kept by the call that was started cold with the same key.
 */
function warmOrder({ order }: ScriptSpec, idleMs: number): SandboxOrder {
  const { limits, bounds } = order;
  const { wallMs, cpuMs } = limits;
  return {
    ...order,
    id: `warm-${randomUUID()}`,
    limits: {
      ...limits,
      wallMs: LONGEST_LOAD_MS + idleMs + 2 * wallMs,
      ...(cpuMs !== undefined && { cpuMs: cpuMs + LOAD_CPU_MS }),
    },
    ...(bounds && { bounds: withoutLimits(bounds, ["wallMs", "cpuMs"]) }),
  };
}
