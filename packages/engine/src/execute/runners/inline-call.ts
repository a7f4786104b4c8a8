import type { JsonValue } from "@sallyport/protocol";
import type { Job, RunResult, ToolFunction } from "../../ports/runner.ts";
import { askHost, tellProgress } from "./ask-host.ts";
import { CallSignal, type StopReason } from "./call-signal.ts";
import { type FileAnswer, type FileOp, performFileOp } from "./file-op.ts";
import { invokeTool } from "./invoke-tool.ts";
import { copyJson, type Encoded } from "./json-text.ts";
import { type ContextChannel, createToolContext, type HostQuestion } from "./tool-context.ts";

const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * One call in this thread. A function that answers at once never gets further than `run`; only one that
 * returns a promise is watched (timer and cancel listener) until it settles, its deadline passes or it is
 * stopped, whichever is first. What it does after that is ignored, and its context refuses to work.
 */
export class InlineCall implements ContextChannel {
  readonly #job: Job;
  readonly #running: Set<InlineCall>;
  readonly #signal = new CallSignal();
  readonly #startedAt = performance.now();
  #cpuMs = 0;
  #ended = false;
  #timer: NodeJS.Timeout | undefined;
  #resolve: ((result: RunResult) => void) | undefined;

  constructor(job: Job, running: Set<InlineCall>) {
    this.#job = job;
    this.#running = running;
  }

  /** Never rejects. */
  run(operation: ToolFunction): Promise<RunResult> {
    const context = createToolContext(this.#job.facts, this);
    const { maxOutputBytes } = this.#job;
    const outcome = invokeTool(operation, { input: copyJson(this.#job.input), context, maxOutputBytes });
    this.#cpuMs = performance.now() - this.#startedAt;
    return outcome instanceof Promise ? this.#watch(outcome) : Promise.resolve(this.#conclude(outcome));
  }

  /** Ends a watched call with that fault; the function itself goes on, unheard. */
  stop(reason: StopReason): void {
    this.#signal.abort(reason);
    this.#settle({ ok: false, fault: { kind: reason } });
  }

  get signal(): AbortSignal {
    return this.#signal.signal;
  }

  async ask(question: HostQuestion): Promise<JsonValue | undefined> {
    this.#checkOpen();
    return askHost(this.#job.host, question);
  }

  /** Nothing has to be encoded here: contents go straight to the host and back. */
  async file(path: string, wanted: FileOp): Promise<FileAnswer> {
    this.#checkOpen();
    return performFileOp(this.#job.host.files, path, wanted);
  }

  progress(percent: number, phase: string | undefined): void {
    if (!this.#ended) tellProgress(this.#job.host, { percent, phase });
  }

  #checkOpen(): void {
    if (this.#ended) throw new Error("the call has ended; its host no longer answers");
  }

  #watch(outcome: Promise<Encoded>): Promise<RunResult> {
    this.#running.add(this);
    const left = this.#job.timeoutMs - this.#cpuMs;
    this.#timer = setTimeout(() => this.stop("timeout"), Math.min(left, LONGEST_TIMER_MS));
    this.#job.signal.addEventListener("abort", this.#onAbort);
    return new Promise((resolve) => {
      this.#resolve = resolve;
      outcome.then((encoded) => this.#settle(encoded));
      if (this.#job.signal.aborted) this.stop("cancelled");
    });
  }

  readonly #onAbort = (): void => this.stop("cancelled");

  #settle(outcome: Encoded): void {
    if (this.#ended) return;
    clearTimeout(this.#timer);
    this.#job.signal.removeEventListener("abort", this.#onAbort);
    this.#running.delete(this);
    this.#resolve?.(this.#conclude(outcome));
  }

  #conclude(outcome: Encoded): RunResult {
    this.#ended = true;
    const usage = { cpuMs: this.#cpuMs, memoryPeakBytes: 0 };
    if (performance.now() - this.#startedAt > this.#job.timeoutMs)
      return { ok: false, fault: { kind: "timeout" }, usage };
    if (!outcome.ok) return { ok: false, fault: outcome.fault, usage };
    return { ok: true, output: JSON.parse(outcome.text), usage };
  }
}
