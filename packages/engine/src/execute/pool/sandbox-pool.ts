import type { Sandbox } from "../../ports/sandbox.ts";
import type { ScriptSpec } from "../runners/script-spec.ts";
import { poolKey } from "./pool-key.ts";
import { LONGEST_LOAD_MS, warmOrder } from "./warm-order.ts";
import { WarmScript } from "./warm-script.ts";

// Processes started ahead of the calls they are for (L3-EXE-3). Each serves one call and is never used again.
// A call takes one that waits under its key, or starts its own; either way, and only once it has a process, the key is
// wanted: the bounds of its agent were then checked by a real start. Wanted keys are filled up in the background, one
// process at a time, so that a burst of calls never becomes a burst of starts. A key whose process does not load is
// not wanted any more until the next call asks for it. Where the pool is full, a process that has waited long makes
// room for another key; a young one does not, or two busy keys would take turns at killing each other's.

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
  readonly #warm = new Set<WarmScript>();
  readonly #wanted = new Map<string, ScriptSpec>();
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
  take(spec: ScriptSpec): WarmScript | undefined {
    const key = poolKey(spec);
    for (const warm of this.#warm) {
      if (warm.key !== key || !warm.claim()) continue;
      this.#warm.delete(warm);
      return warm;
    }
    return undefined;
  }

  /** Another call of that kind may come. Only for a spec that a call was just started or served with. */
  want(spec: ScriptSpec): void {
    if (this.#closed) return;
    this.#wanted.set(poolKey(spec), spec);
    this.#timer ??= setTimeout(() => this.#startFilling(), REFILL_AFTER_MS).unref();
  }

  /** Ends those that hold a tool's code: it was replaced, or must not run any more. */
  async retire(tool: string): Promise<void> {
    for (const [key, { wanted }] of this.#wanted) if (wanted.tool === tool) this.#wanted.delete(key);
    await Promise.all([...this.#warm].filter((warm) => warm.tool === tool).map((warm) => warm.end()));
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
    for (let key = this.#nextKey(); key !== undefined; key = this.#nextKey()) {
      const spec = this.#wanted.get(key);
      const ready = spec && (await this.#makeRoom(key)) && (await this.#startOne(key, spec));
      if (!ready) this.#wanted.delete(key);
    }
  }

  #nextKey(): string | undefined {
    for (const key of this.#wanted.keys()) {
      const waiting = [...this.#warm].filter((warm) => warm.key === key).length;
      if (waiting < this.#options.perKey) return key;
      this.#wanted.delete(key);
    }
    return undefined;
  }

  async #makeRoom(key: string): Promise<boolean> {
    if (this.#warm.size < this.#options.total) return true;
    const oldEnough = performance.now() - this.#options.idleMs * OLD_AFTER_SHARE;
    const others = [...this.#warm].filter(
      (warm) => warm.isReady && warm.key !== key && warm.readyAt < oldEnough,
    );
    const [oldest] = others.toSorted((a, b) => a.readyAt - b.readyAt);
    await oldest?.end();
    return this.#warm.size < this.#options.total;
  }

  /** True when it is ready. A start that fails is told to the next call, which then makes its own. */
  async #startOne(key: string, spec: ScriptSpec): Promise<boolean> {
    const startedAt = performance.now();
    const process = await this.#sandbox.start(warmOrder(spec, this.#options.idleMs)).catch(() => undefined);
    if (!process) return false;
    const warm = new WarmScript(process, { key, spec, startedAt });
    this.#warm.add(warm);
    void process.ended.then(() => this.#warm.delete(warm));
    if (this.#closed || !this.#wanted.has(key)) await warm.end();
    await this.#awaitLoad(warm);
    return warm.isReady;
  }

  async #awaitLoad(warm: WarmScript): Promise<void> {
    const clock = setTimeout(() => void warm.end(), LONGEST_LOAD_MS);
    await warm.settled;
    clearTimeout(clock);
    if (warm.isReady) this.#endWhenIdle(warm);
  }

  #endWhenIdle(warm: WarmScript): void {
    const timer = setTimeout(() => void warm.end(), this.#options.idleMs).unref();
    void warm.link.process.ended.then(() => clearTimeout(timer));
  }
}
