import { createHash, randomUUID } from "node:crypto";
import { availableParallelism } from "node:os";
import { canonicalJson, type JsonValue } from "@sallyport/protocol";
import type { Sandbox, SandboxOrder, SandboxProcess } from "../../ports/sandbox.ts";
import { timerMs } from "../../timeouts.ts";
import { type LinkListener, ScriptLink } from "./script-link.ts";
import { type ScriptSpec, withoutLimits } from "./script-spec.ts";
import type { OpenedReport } from "./wire.ts";

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
  readonly #warm = new Set<WarmScript>();
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

  /** How often a tool was retired: a call that began before the last time may not ask for more of its code. */
  retirements(tool: string): number {
    return this.#retirements.get(tool) ?? 0;
  }

  /** Ends those that hold a tool's code: it was replaced, or must not run any more. */
  async retire(tool: string): Promise<void> {
    this.#retirements.set(tool, this.retirements(tool) + 1);
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
    const timer = setTimeout(() => void warm.end(), timerMs(this.#options.idleMs)).unref();
    void warm.link.process.ended.then(() => clearTimeout(timer));
  }
}

/**
 * A name for everything that makes a process what it is: its sandbox (level, mounts, limits, hosts, bounds …), its
 * module, tool and version, and for whom it was started. Only equal specs have equal keys, so a process that waits
 * under a key is the one that the next call with that key would have started itself.
 */
function poolKey(spec: ScriptSpec): string {
  const { wanted, order, link, principal } = spec;
  const plain: JsonValue = JSON.parse(JSON.stringify({ wanted, order, link, principal }));
  return createHash("sha256").update(canonicalJson(plain)).digest("base64url");
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

// A process that waits for its one call. It is
//   loading – told which tool to load;
//   ready   – loaded, and silent: any report from it now is a breach, and ends it;
//   claimed – it belongs to a call, and the pool does nothing with it any more;
//   gone    – it died, broke the protocol, or was ended because nobody came.

/** What a process was started for, and when (on the `performance.now()` clock). */
interface WarmStart {
  key: string;
  spec: ScriptSpec;
  startedAt: number;
}

/** See above. */
export class WarmScript implements LinkListener {
  readonly key: string;
  readonly tool: string;
  readonly link: ScriptLink;
  readonly #startedAt: number;
  readonly #settled = Promise.withResolvers<void>();
  #state: "loading" | "ready" | "claimed" | "gone" = "loading";
  #readyAt = 0;
  #cpuMs = 0;

  constructor(process: SandboxProcess, { key, spec, startedAt }: WarmStart) {
    this.key = key;
    this.tool = spec.wanted.tool;
    this.#startedAt = startedAt;
    this.link = new ScriptLink(process, spec.link, this);
    process.stdout.once("close", () => this.#leave());
    void process.ended.then(() => this.#leave());
    this.link.post({ kind: "hello", ...spec.wanted });
  }

  get isReady(): boolean {
    return this.#state === "ready";
  }

  /** Since when it waits, on the `performance.now()` clock. */
  get readyAt(): number {
    return this.#readyAt;
  }

  /** What loading took; a call's processor time counts from there. */
  get cpuMs(): number {
    return this.#cpuMs;
  }

  /** Resolves when it is ready or gone. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** True when it was ready: it is the caller's now. */
  claim(): boolean {
    if (this.#state !== "ready") return false;
    this.#state = "claimed";
    return true;
  }

  /** Ends it, unless it was claimed. Resolves when it is gone. */
  async end(): Promise<void> {
    if (this.#state === "claimed") return;
    this.#leave();
    this.link.process.kill();
    await this.link.process.ended;
  }

  onReport({ report }: OpenedReport): void {
    if (report.kind !== "ready" || this.#state !== "loading") return void this.end();
    // The process says so itself: it is believed no further than it can be true.
    const most = (performance.now() - this.#startedAt) * availableParallelism();
    this.#cpuMs = Math.min(report.threadCpuMs, most);
    this.#readyAt = performance.now();
    this.#state = "ready";
    this.#settled.resolve();
  }

  onBroken(): void {
    void this.end();
  }

  #leave(): void {
    if (this.#state === "claimed") return;
    this.#state = "gone";
    this.#settled.resolve();
  }
}
