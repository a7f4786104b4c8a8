import type { Job, RunFault, RunResult } from "../../ports/runner.ts";
import { OutcomeLatch } from "./outcome-latch.ts";
import { RemoteCall } from "./remote-call.ts";
import type { UsageSample } from "./wire.ts";

const MIB = 1_048_576;
/** Node itself takes 11 MiB of a thread, 25 when it strips types: a lower limit would measure Node, not the tool. */
const LEAST_MEMORY_MIB = 64;
/** V8 starts to look for buffers nobody uses when 64 MiB have gathered; until it is done we saw up to 140. */
const BUFFER_GARBAGE_BYTES = 128 * MIB;

/** What a thread is for. Only a job with the same key may run on it: nothing leaks between agents or tools. */
export interface ThreadSpec {
  key: string;
  moduleUrl: string;
  tool: string;
  version: string;
  memoryLimitBytes: number;
  /** The tool's code was replaced or is gone: a thread of it ends after its call. */
  retired?: boolean;
}

/** The thread a job needs. */
function specFor(job: Job, moduleUrl: string): ThreadSpec {
  const { tool, version, facts } = job;
  const memoryMib = Math.max(LEAST_MEMORY_MIB, Math.ceil(job.memoryBytes / MIB));
  const key = JSON.stringify([facts.tenant, facts.agent, tool, version, moduleUrl, memoryMib]);
  return { key, moduleUrl, tool, version, memoryLimitBytes: memoryMib * MIB };
}

/** A sample taken from outside, while the thread may be in the middle of anything. */
export interface Measurement extends UsageSample {
  heapBytes: number;
}

/** Where a call is: in the pool's line, or with a thread. */
export interface CallHolder {
  /** A cancelled call's tool is told to stop. Gives the milliseconds that it may take for it. */
  askToStop(call: ThreadCall): number;
  /** Takes in what was reported already but not heard yet. */
  listen(): void;
  /**
   * Lets go of a call that has an outcome. True: nothing of it runs any more. False: its tool is being ended, and the
   * holder calls `conclude` once it is gone.
   */
  letGo(call: ThreadCall): boolean;
}

/**
 * One call of the thread runner, from its arrival to its result, which comes out exactly once. Its time starts when it
 * arrives, and again when a thread takes it: it waits no longer than it may run.
 */
export class ThreadCall extends RemoteCall {
  readonly spec: ThreadSpec;
  /** When it came, on the `performance.now()` clock. */
  readonly since = performance.now();
  /** Who has it; undefined until it waits in line or a thread has it. */
  holder: CallHolder | undefined;
  readonly #settle: (result: RunResult) => void;
  #cpuMs = 0;
  #peakBytes = 0;
  /** The tool has reported the end of the call by itself. */
  isReported = false;

  constructor(job: Job, moduleUrl: string, settle: (result: RunResult) => void) {
    super(job, new OutcomeLatch(job), "thread");
    this.spec = specFor(job, moduleUrl);
    this.#settle = settle;
    this.latch.onCancel = () => this.holder?.askToStop(this) ?? 0;
    this.latch.onLate = () => this.holder?.listen();
    this.latch.onOutcome = () => {
      if (this.holder?.letGo(this) ?? true) this.conclude();
    };
    this.latch.start();
  }

  /** Its turn has come: from here on it may run as long as it may. */
  giveTo(thread: CallHolder): void {
    if (this.holder) this.latch.restart();
    this.holder = thread;
  }

  /** It is sent, as that number. What its thread used to load the module is not its own use. */
  sendAs(id: number): void {
    this.id = id;
    this.#cpuMs = 0;
  }

  /** Takes in what its thread has used; `cpuBeforeMs` is what it had used before this call. */
  note(sample: UsageSample, cpuBeforeMs: number): void {
    this.#cpuMs = Math.max(this.#cpuMs, sample.threadCpuMs - cpuBeforeMs);
    this.#peakBytes = Math.max(this.#peakBytes, sample.memoryBytes);
  }

  /** The limit that it exceeds, by what was noted and measured. */
  exceeded(measured: Measurement): RunFault | undefined {
    return memoryFault(measured, this.spec.memoryLimitBytes) ?? this.#cpuFault();
  }

  /** Gives the result of a call that has an outcome; only the first time counts. */
  conclude(): void {
    const outcome = this.latch.outcome ?? { ok: false, fault: { kind: "cancelled" } };
    this.#settle({ ...outcome, usage: { cpuMs: this.#cpuMs, memoryPeakBytes: this.#peakBytes } });
  }

  #cpuFault(): RunFault | undefined {
    const { cpuMs } = this.job;
    if (cpuMs === undefined || this.id === 0 || this.#cpuMs <= cpuMs) return undefined;
    const message = `it used ${Math.round(this.#cpuMs)} ms of processor time; its limit is ${cpuMs} ms`;
    return { kind: "limit", limit: "cpu", message };
  }
}

/**
 * The fault of a tool that uses more than its limit: of heap, or of heap and buffers together. Buffers that wait to be
 * collected cannot be told from those in use, so the sum is allowed as many of them as V8 lets gather.
 */
function memoryFault(measured: Measurement, limitBytes: number): RunFault | undefined {
  const overHeap = measured.heapBytes > limitBytes;
  if (!overHeap && measured.memoryBytes <= limitBytes + BUFFER_GARBAGE_BYTES) return undefined;
  const [used, limit] = [measured.memoryBytes, limitBytes].map((bytes) => (bytes / MIB).toFixed(1));
  return { kind: "memory", message: `the tool used ${used} MiB of memory; its limit is ${limit} MiB` };
}
