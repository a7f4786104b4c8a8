import type { Job, RunFault, RunResult } from "../../ports/runner.ts";
import { answerFor, tellProgress } from "./ask-host.ts";
import { findMemoryFault, type Measurement } from "./memory-limit.ts";
import { OpenQuestions } from "./open-questions.ts";
import { questionFrom } from "./read-report.ts";
import { type CallReport, encodeFrame, monotonicMs, type Reading } from "./thread-frames.ts";
import type { HostQuestion } from "./tool-context.ts";

// One call, seen from main. It is
//   running  – one timer watches the deadline and, from its first tick on, the memory; the order is sent as soon
//              as the thread has loaded (until then the call may still move to another thread of its kind);
//   stopping – cancelled: the tool's signal is aborted and it has a short grace, never past the deadline;
//   doomed   – its fault is decided and the thread is being ended; nothing the thread still says counts;
//   over     – the result is out, exactly once, and timer and listener are gone.
// running and stopping go straight to over when the tool reports its end, and the thread may be used again.
// Otherwise they go through doomed, and the result waits (a bounded time) until the thread has really stopped,
// so that nothing the tool does comes after its own report.

/** What a call may do with the thread it runs on. */
export interface ThreadHold {
  post(frame: string): void;
  /** Takes in what the thread has said already but main had no time to hear. */
  listen(): void;
  /** Rejects when the thread is gone. */
  measure(): Promise<Measurement>;
  /** The tool's part is over; the thread is free again. */
  release(reading: Reading): void;
  /** The thread must end; `conclude` is called once it has, or once waiting for it has gone on too long. */
  kill(): void;
}

/** Where a call runs: as which call of which thread. */
export interface CallPlace {
  id: number;
  hold: ThreadHold;
  /** What the thread had used before this call. */
  cpuBeforeMs: number;
}

export interface ThreadCallOptions {
  /** The thread it waits for; it may be sent to another one. */
  hold: ThreadHold;
  settle: (result: RunResult) => void;
  memoryLimitBytes: number;
  memoryPollMs: number;
  cancelGraceMs: number;
}

const NOT_SENT = 0;

/** See the top of the file. Settles exactly once. */
export class ThreadCall {
  readonly #job: Job;
  readonly #options: ThreadCallOptions;
  readonly #deadlineAt: number;
  #place: CallPlace;
  #stage: "running" | "stopping" | "doomed" | "over" = "running";
  #fault: RunFault | undefined;
  #killAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #measuring = false;
  readonly #open = new OpenQuestions();
  #cpuMs = 0;
  #peakBytes = 0;

  constructor(job: Job, options: ThreadCallOptions) {
    this.#job = job;
    this.#options = options;
    this.#place = { id: NOT_SENT, hold: options.hold, cpuBeforeMs: 0 };
    this.#deadlineAt = monotonicMs() + job.timeoutMs;
  }

  get id(): number {
    return this.#place.id;
  }

  /** The most a frame of this call may measure. */
  get maxOutputBytes(): number {
    return this.#job.maxOutputBytes;
  }

  /** From here on the deadline and a cancel count. */
  start(): void {
    this.#schedule();
    this.#job.signal.addEventListener("abort", this.#onAbort);
  }

  /** Gives the order to a thread that has loaded. Once only. */
  send(place: CallPlace): void {
    this.#place = place;
    this.#cpuMs = 0;
    const { operation, facts, input, maxOutputBytes } = this.#job;
    const order = { operation, facts, deadlineAt: this.#deadlineAt, maxBytes: maxOutputBytes };
    place.hold.post(encodeFrame({ kind: "run", call: place.id, ...order }, JSON.stringify(input)));
  }

  /** Takes a report whose shape is checked and that names this call. */
  take(report: CallReport, body: string): void {
    if (this.#stage === "doomed" || this.#stage === "over") return;
    if (report.kind === "progress") tellProgress(this.#job.host, report);
    else if (report.kind === "ask") this.#takeQuestion(report.question, questionFrom(report, body));
    else this.#takeEnding(report, body);
  }

  /** Decides the fault; the first one stays. The thread is ended, unless it is ending by itself. */
  doom(fault: RunFault): void {
    if (this.#stage === "doomed" || this.#stage === "over") return;
    this.#fault = this.#stage === "stopping" ? { kind: "cancelled" } : fault;
    this.#stage = "doomed";
    this.#stopWatching();
    this.#place.hold.kill();
  }

  /** Gives the result of a doomed call. Nothing happens when it is out already. */
  conclude(): void {
    this.#settle({ ok: false, fault: this.#fault ?? { kind: "cancelled" } });
  }

  readonly #onAbort = (): void => {
    if (this.#stage !== "running") return;
    this.#stage = "stopping";
    // Nothing to tidy up in a tool that has not begun.
    if (this.id === NOT_SENT) this.doom({ kind: "cancelled" });
    else this.#askToStop();
  };

  #askToStop(): void {
    this.#killAt = Math.min(this.#deadlineAt, monotonicMs() + this.#options.cancelGraceMs);
    this.#place.hold.post(encodeFrame({ kind: "abort", call: this.id }));
    this.#schedule();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    const left = Math.min(this.#deadlineAt, this.#killAt) - monotonicMs();
    this.#timer = setTimeout(this.#tick, Math.max(0, Math.min(left, this.#options.memoryPollMs)));
  }

  readonly #tick = (): void => {
    const now = monotonicMs();
    if (now >= this.#killAt || now >= this.#deadlineAt) this.#place.hold.listen();
    if (this.#stage === "over") return;
    if (now >= this.#killAt) this.doom({ kind: "cancelled" });
    else if (now >= this.#deadlineAt) this.doom({ kind: "timeout" });
    else {
      void this.#watchMemory();
      this.#schedule();
    }
  };

  async #watchMemory(): Promise<void> {
    if (this.#measuring) return;
    this.#measuring = true;
    // A thread that is gone reports its end by itself.
    const reading = await this.#place.hold.measure().catch(() => undefined);
    this.#measuring = false;
    if (reading === undefined || this.#stage === "over") return;
    this.#note(reading);
    const fault = findMemoryFault(reading, this.#options.memoryLimitBytes);
    if (fault) this.doom(fault);
  }

  #takeQuestion(question: number, asked: HostQuestion): void {
    if (this.#open.mayOpen(asked.method)) void this.#answer(question, asked);
    else this.doom({ kind: "died", message: "the tool's thread broke the protocol: too many questions" });
  }

  async #answer(question: number, asked: HostQuestion): Promise<void> {
    this.#open.open(asked.method);
    const { body, ...rest } = await answerFor(this.#job.host, asked);
    this.#open.close(asked.method);
    if (this.#stage === "doomed" || this.#stage === "over") return;
    this.#place.hold.post(encodeFrame({ kind: "answer", call: this.id, question, ...rest }, body));
  }

  #takeEnding(report: Extract<CallReport, { kind: "done" | "failed" }>, body: string): void {
    this.#note(report);
    const cancelled = this.#stage === "stopping";
    const ending =
      report.kind === "failed" ? { ok: false as const, fault: report.fault } : this.#readOutput(body);
    this.#stopWatching();
    this.#place.hold.release(report);
    this.#settle(cancelled ? { ok: false, fault: { kind: "cancelled" } } : ending);
  }

  #readOutput(body: string): Ending {
    const bytes = Buffer.byteLength(body);
    if (bytes > this.#job.maxOutputBytes) return { ok: false, fault: { kind: "output_too_large", bytes } };
    try {
      return { ok: true, output: JSON.parse(body) };
    } catch {
      return {
        ok: false,
        fault: { kind: "not_json", message: "the thread sent an output that is not JSON" },
      };
    }
  }

  #note(reading: Reading): void {
    this.#cpuMs = Math.max(this.#cpuMs, reading.threadCpuMs - this.#place.cpuBeforeMs);
    this.#peakBytes = Math.max(this.#peakBytes, reading.memoryBytes);
  }

  #stopWatching(): void {
    clearTimeout(this.#timer);
    this.#job.signal.removeEventListener("abort", this.#onAbort);
  }

  #settle(ending: Ending): void {
    if (this.#stage === "over") return;
    this.#stage = "over";
    this.#options.settle({ ...ending, usage: { cpuMs: this.#cpuMs, memoryPeakBytes: this.#peakBytes } });
  }
}

type Ending =
  | { ok: true; output: Extract<RunResult, { ok: true }>["output"] }
  | { ok: false; fault: RunFault };
