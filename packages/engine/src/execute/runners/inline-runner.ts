import { AsyncLocalStorage } from "node:async_hooks";
import type { Isolation } from "@sallyport/protocol";
import type { Implementation, Job, Runner, RunResult, ToolFunction } from "../../ports/runner.ts";
import { IN_PROCESS_ENFORCEMENT } from "../confinement.ts";
import { type ContextChannel, createToolContext, tellProgress } from "./host-api.ts";
import { type HostOp, performHostOp } from "./host-ops.ts";
import { CallSignal, type Outcome, OutcomeLatch, refused, type StopReason } from "./outcome-latch.ts";
import {
  copyInput,
  copyJson,
  describeThrown,
  type Encoded,
  findOperation,
  invokeTool,
  noOperation,
} from "./tool-result.ts";

const ISOLATION: Isolation = Object.freeze({ level: "LEVEL_0", runner: "inline" });

/**
 * Runs trusted functions in this thread. It contains what they throw and return, and its deadline holds for functions
 * that wait; it cannot stop one that never gives the thread back, nor limit its memory.
 */
export function createInlineRunner(): Runner {
  const running = new Set<InlineCall>();
  let closed = false;

  function run(job: Job): RunResult | Promise<RunResult> {
    if (closed || job.signal.aborted) return refused({ kind: "cancelled" });
    if (!isInline(job.implementation)) {
      return refused({ kind: "died", message: `${job.tool} is not a function of this process` });
    }
    const operation = findOperation(job.implementation.operations, job.operation);
    if (operation === undefined) return refused(noOperation(job.tool, job.operation).fault);
    return new InlineCall(job, running).run(operation);
  }

  return {
    kind: "inline",
    isolation: ISOLATION,
    enforcement: IN_PROCESS_ENFORCEMENT.inline,
    run,
    close: async () => {
      closed = true;
      for (const call of [...running]) call.cancel();
    },
  };
}

/** Functions of this process. */
interface InlineImplementation extends Implementation {
  readonly operations: Readonly<Record<string, ToolFunction>>;
}

function isInline(implementation: Implementation): implementation is InlineImplementation {
  const { operations } = implementation;
  return typeof operations === "object" && operations !== null;
}

/** Which call a timer or a callback belongs to. The host's own work for a tool belongs to none. */
const CALLS = new AsyncLocalStorage<InlineCall | undefined>();

/**
 * For a handler of `uncaughtException`: ends the inline call whose timer or callback threw the error. Gives the name of
 * its tool, also when the call had ended before; undefined when the error comes from no inline tool.
 */
export function blameInlineTool(error: unknown): string | undefined {
  const call = CALLS.getStore();
  call?.fail(error);
  return call?.tool;
}

/**
 * One call in this thread. A function that answers at once needs no more than `run`; only one that returns a promise is
 * watched until it settles, its deadline passes or it is stopped, whichever is first. What it does after that is ignored,
 * and its context refuses to work.
 */
class InlineCall implements ContextChannel {
  readonly #job: Job;
  readonly #running: Set<InlineCall>;
  readonly #signal = new CallSignal();
  readonly #startedAt = performance.now();
  #latch: OutcomeLatch | undefined;
  #cpuMs = 0;
  #ended = false;

  constructor(job: Job, running: Set<InlineCall>) {
    this.#job = job;
    this.#running = running;
  }

  get tool(): string {
    return this.#job.tool;
  }

  get signal(): AbortSignal {
    return this.#signal.signal;
  }

  /** Never rejects. */
  run(operation: ToolFunction): RunResult | Promise<RunResult> {
    const context = createToolContext(this.#job.facts, this);
    const { maxOutputBytes } = this.#job;
    const given = { input: copyInput(this.#job.input), context, maxOutputBytes };
    const encoded = CALLS.run(this, () => invokeTool(operation, given));
    this.#cpuMs = performance.now() - this.#startedAt;
    return encoded instanceof Promise ? this.#watch(encoded) : this.#conclude(outcomeOf(encoded));
  }

  /** The function itself goes on, unheard. */
  cancel(): void {
    this.#latch?.cancel();
  }

  /** Ends the call with an error that its function left to nobody. */
  fail(error: unknown): void {
    this.#latch?.fail(describeThrown(error));
  }

  /** Contents of files go straight to the host and back; every other answer is a copy. */
  async ask(op: HostOp, args: readonly unknown[]): Promise<unknown> {
    if (this.#ended) throw new Error("the call has ended; its host no longer answers");
    const answer = await CALLS.run(undefined, () => performHostOp(this.#job.host, op, args));
    return Buffer.isBuffer(answer) ? answer : copyJson(answer);
  }

  progress(percent: number, phase: string | undefined): void {
    if (!this.#ended) CALLS.run(undefined, () => tellProgress(this.#job.host, { percent, phase }));
  }

  #watch(pending: Promise<Encoded>): Promise<RunResult> {
    const { signal, timeoutMs } = this.#job;
    const latch = new OutcomeLatch({ signal, timeoutMs: timeoutMs - this.#cpuMs });
    this.#latch = latch;
    this.#running.add(this);
    return new Promise((resolve) => {
      latch.onCancel = () => this.#stop("cancelled");
      latch.onLate = (reason) => this.#stop(reason);
      latch.onOutcome = (outcome) => {
        this.#running.delete(this);
        resolve(this.#conclude(outcome));
      };
      pending.then((encoded) => latch.settle(outcomeOf(encoded)));
      latch.start();
    });
  }

  /** The tool's listeners run here: what they throw is the tool's error. It has no grace. */
  #stop(reason: StopReason): number {
    CALLS.run(this, () => this.#signal.abort(reason));
    return 0;
  }

  #conclude(outcome: Outcome): RunResult {
    this.#ended = true;
    const usage = { cpuMs: this.#cpuMs, memoryPeakBytes: 0 };
    if (performance.now() - this.#startedAt > this.#job.timeoutMs)
      return { ok: false, fault: { kind: "timeout" }, usage };
    return { ...outcome, usage };
  }
}

function outcomeOf(encoded: Encoded): Outcome {
  return encoded.ok ? { ok: true, output: JSON.parse(encoded.text), text: encoded.text } : encoded;
}
