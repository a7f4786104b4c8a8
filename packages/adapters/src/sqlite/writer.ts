import { Worker } from "node:worker_threads";
import { sourceThreadEnv } from "@sallyport/engine/threads";
import { type Failure, SallyportError } from "@sallyport/protocol";
import { lost, unanswered } from "./failures.ts";
import type { FromWriter, Job, Outcome, ToWriter } from "./messages.ts";
import type { WriterOptions } from "./options.ts";

/** More in one transaction makes each unit wait longer and saves hardly anything. */
const MAX_BATCH = 512;
const MAX_BATCH_BYTES = 8 * 1024 * 1024;
/** What may wait at all; beyond it a commit is refused, so that memory stays bounded. */
const MAX_WAITING = 16_384;
const MAX_WAITING_BYTES = 256 * 1024 * 1024;
/** Units are short-lived text: with this much room they die young, which saves a sixth of the thread's time. */
const ROOM = { maxYoungGenerationSizeMb: 64 };
/** A second batch goes over before the first is answered only when it is worth a sync of its own. */
const WORTH_A_BATCH = 32;

interface Waiting {
  job: Job;
  bytes: number;
  resolve(outcome: Outcome): void;
  reject(error: Error): void;
}

/**
 * The main thread's end of the writer. `starting` → `running` (ready) or rejected (refused); `running` → `closing`
 * (close) or `dead` (the thread ended or failed); in the last two every job is refused. Of a dead thread's jobs those it
 * had are rejected as unanswered, those that waited as refused. While a batch is being committed, jobs wait here and go
 * over together in the next one: one message, one transaction, one sync.
 */
export class Writer {
  readonly #thread: Worker;
  readonly #waiting: Waiting[] = [];
  readonly #inFlight: Waiting[][] = [];
  #waitingBytes = 0;
  #isPumpDue = false;
  #end: SallyportError | undefined;
  readonly #idle: (() => void)[] = [];

  private constructor(thread: Worker) {
    this.#thread = thread;
    thread.on("message", (message: FromWriter) => this.#receive(message));
    thread.on("error", (cause) => this.#die(lost(`The store's writer failed: ${cause.message}`, { cause })));
    thread.on("exit", () => this.#die(lost("The store's writer has ended.")));
    thread.unref();
  }

  /** Starts the thread and waits until it holds the folder. Rejects with E3914 or E3915 when it cannot. */
  static async start(options: WriterOptions): Promise<Writer> {
    const name = import.meta.url.endsWith(".ts") ? "./writer-thread.ts" : "./writer-thread.js";
    const file = new URL(name, import.meta.url);
    const thread = new Worker(file, {
      workerData: options,
      resourceLimits: ROOM,
      env: { ...sourceThreadEnv(file), ...process.env },
    });
    const refused = await firstMessage(thread);
    if (!refused) return new Writer(thread);
    await exitOf(thread);
    throw new SallyportError(refused);
  }

  /** Resolves with what became of the job; rejects with E3914 when the writer is gone or far behind. */
  submit(job: Job, bytes: number): Promise<Outcome> {
    if (this.#end) return Promise.reject(this.#end);
    if (this.#waiting.length >= MAX_WAITING || this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      return Promise.reject(lost("Too many units wait to be written.", { advice: "Send less at a time." }));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, bytes, resolve, reject });
      this.#waitingBytes += bytes;
      this.#pumpSoon();
    });
  }

  /** Resolves once nothing waits or is under way; jobs submitted later are the caller's to keep away. */
  drain(): Promise<void> {
    if (this.#waiting.length === 0 && this.#inFlight.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  /** Writes what waits, then ends the thread. Resolves also when the thread is dead already. */
  async close(): Promise<void> {
    await this.drain();
    if (this.#end) return;
    this.#end = lost("The store has been closed.");
    this.#thread.ref();
    const ended = exitOf(this.#thread);
    this.#say({ kind: "close" });
    await ended;
  }

  /** Ends the thread at once, as a crash of it would; every job that is not answered rejects. */
  async terminate(): Promise<void> {
    await this.#thread.terminate();
  }

  /** After everything else this turn of the loop has to do, so that whatever is submitted together goes together. */
  #pumpSoon(): void {
    if (this.#isPumpDue || !this.#maySend()) return;
    this.#isPumpDue = true;
    process.nextTick(() => {
      this.#isPumpDue = false;
      while (this.#maySend()) this.#send();
    });
  }

  #maySend(): boolean {
    if (this.#end || this.#waiting.length === 0) return false;
    return (
      this.#inFlight.length === 0 || (this.#inFlight.length === 1 && this.#waiting.length >= WORTH_A_BATCH)
    );
  }

  #send(): void {
    const batch = this.#waiting.splice(0, this.#batchLength());
    for (const { bytes } of batch) this.#waitingBytes -= bytes;
    this.#inFlight.push(batch);
    this.#thread.ref();
    this.#say({ kind: "batch", jobs: batch.map(({ job }) => job) });
  }

  /** Halves a large crowd, so that this thread prepares and answers one half while the other is being written. */
  #batchLength(): number {
    const { length } = this.#waiting;
    const wanted = length < 2 * WORTH_A_BATCH ? length : Math.min(MAX_BATCH, Math.ceil(length / 2));
    let bytes = 0;
    const tooMany = this.#waiting.findIndex((waiting, index) => {
      bytes += waiting.bytes;
      return index >= wanted || (index > 0 && bytes > MAX_BATCH_BYTES);
    });
    return tooMany === -1 ? length : tooMany;
  }

  #receive(message: FromWriter): void {
    if (message.kind !== "done") return;
    const batch = this.#inFlight.shift() ?? [];
    batch.forEach(({ resolve, reject }, index) => {
      const outcome = message.outcomes[index];
      if (outcome) resolve(outcome);
      else reject(unanswered(lost("The store's writer lost a unit.")));
    });
    if (this.#waiting.length > 0) this.#pumpSoon();
    else if (this.#inFlight.length === 0) this.#rest();
  }

  #rest(): void {
    this.#thread.unref();
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #die(reason: SallyportError): void {
    this.#end ??= reason;
    const open = unanswered(this.#end);
    for (const { reject } of this.#inFlight.splice(0).flat()) reject(open);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#end);
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #say(message: ToWriter): void {
    this.#thread.postMessage(message);
  }
}

function exitOf(thread: Worker): Promise<void> {
  return new Promise((resolve) => {
    thread.once("exit", () => resolve());
  });
}

/** Undefined when the thread is ready; otherwise why it is not. */
async function firstMessage(thread: Worker): Promise<Failure | undefined> {
  const died = (cause: Error) => lost(`The store's writer failed: ${cause.message}`, { cause });
  return new Promise((resolve, reject) => {
    thread.once("error", (cause) => reject(died(cause)));
    thread.once("exit", () => reject(lost("The store's writer ended before it was ready.")));
    thread.once("message", (first: FromWriter) =>
      resolve(first.kind === "refused" ? first.failure : undefined),
    );
  });
}
