import { availableParallelism } from "node:os";
import type { SandboxProcess } from "../../ports/sandbox.ts";
import type { OpenedReport } from "../runners/read-report.ts";
import { type LinkListener, ScriptLink } from "../runners/script-link.ts";
import type { ScriptSpec } from "../runners/script-spec.ts";

// A process that waits for its one call. It is
//   loading – told which tool to load;
//   ready   – loaded, and silent: a word from it now is a breach, and ends it;
//   claimed – it belongs to a call and is none of the pool's business any more;
//   gone    – it died, broke the protocol, or was ended because nobody came.

/** What a process was started for, and when (on the `performance.now()` clock). */
export interface WarmStart {
  key: string;
  spec: ScriptSpec;
  startedAt: number;
}

/** See the top of the file. */
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
    // Its own word, so it is believed no further than it can be true.
    const most = (performance.now() - this.#startedAt) * availableParallelism();
    this.#cpuMs = Math.min(report.threadCpuMs, most);
    this.#readyAt = performance.now();
    this.#state = "ready";
    this.#settled.resolve();
  }

  onGarbage(): void {
    void this.end();
  }

  onTooMuchPrinted(): void {
    void this.end();
  }

  #leave(): void {
    if (this.#state === "claimed") return;
    this.#state = "gone";
    this.#settled.resolve();
  }
}
