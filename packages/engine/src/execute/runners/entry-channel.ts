import type { JsonValue } from "@sallyport/protocol";
import { CallSignal, type StopReason } from "./call-signal.ts";
import { decodeFileAnswer, encodeFileOp, type FileAnswer, type FileOp } from "./file-op.ts";
import { OpenQuestions } from "./open-questions.ts";
import { encodeFrame, type HostError, monotonicMs } from "./thread-frames.ts";
import type { ContextChannel, HostQuestion } from "./tool-context.ts";

const PROGRESS_EVERY_MS = 50;
/** A tool that watches its signal learns of the deadline this long before main ends the thread. */
const MOST_NOTICE_MS = 50;
const NOTICE_SHARE = 0.1;

const { parse } = JSON;
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;

interface Asked {
  question: HostQuestion;
  resolve(value: JsonValue | undefined): void;
  reject(error: Error): void;
}

interface Progress {
  percent: number;
  phase: string | undefined;
}

/** A call's own number and deadline, and the way out. */
export interface EntryChannelOptions {
  call: number;
  deadlineAt: number;
  post: (frame: string) => void;
}

/**
 * A call's way to main, seen from inside the thread or process. At most MAX_OPEN_QUESTIONS questions are under way,
 * MAX_OPEN_FILES of them about files, and others wait here; progress leaves at most every 50 ms, the newest one last.
 * Once ended it sends nothing, and whoever still waits is told.
 */
export class EntryChannel implements ContextChannel {
  readonly #call: number;
  readonly #deadlineAt: number;
  readonly #post: (frame: string) => void;
  readonly #signal = new CallSignal();
  readonly #asked = new Map<number, Asked>();
  readonly #open = new OpenQuestions();
  readonly #waiting: Asked[] = [];
  #questions = 0;
  #ended = false;
  #noticeTimer: NodeJS.Timeout | undefined;
  #progressTimer: NodeJS.Timeout | undefined;
  #progressSentAt = Number.NEGATIVE_INFINITY;
  #newest: Progress | undefined;

  constructor(options: EntryChannelOptions) {
    this.#call = options.call;
    this.#deadlineAt = options.deadlineAt;
    this.#post = options.post;
  }

  get signal(): AbortSignal {
    if (this.#noticeTimer === undefined && !this.#ended) {
      const left = this.#deadlineAt - monotonicMs();
      const notice = Math.min(MOST_NOTICE_MS, left * NOTICE_SHARE);
      this.#noticeTimer = startTimer(
        () => this.abort("timeout"),
        Math.max(0, Math.min(left - notice, 2 ** 31 - 1)),
      );
    }
    return this.#signal.signal;
  }

  get stopReason(): StopReason | undefined {
    return this.#signal.reason;
  }

  abort(reason: StopReason): void {
    this.#signal.abort(reason);
  }

  ask(question: HostQuestion): Promise<JsonValue | undefined> {
    return new Promise((resolve, reject) => {
      const asked = { question, resolve, reject };
      if (this.#open.mayOpen(question.method)) this.#send(asked);
      else this.#waiting.push(asked);
    });
  }

  async file(path: string, wanted: FileOp): Promise<FileAnswer> {
    return decodeFileAnswer(await this.ask({ method: "file", subject: path, value: encodeFileOp(wanted) }));
  }

  /** Hands the host's answer to whoever asked; an answer that nobody waits for is dropped. */
  answer(question: number, reply: { error: HostError | undefined; body: string }): void {
    const asked = this.#asked.get(question);
    if (asked === undefined) return;
    this.#asked.delete(question);
    this.#open.close(asked.question.method);
    this.#sendNext();
    if (reply.error) asked.reject(Object.assign(new Error(reply.error.message), reply.error));
    else asked.resolve(reply.body === "" ? undefined : parse(reply.body));
  }

  progress(percent: number, phase: string | undefined): void {
    if (this.#ended) return;
    this.#newest = { percent, phase };
    const wait = this.#progressSentAt + PROGRESS_EVERY_MS - performance.now();
    if (wait <= 0) this.#sendProgress();
    else this.#progressTimer ??= startTimer(() => this.#sendProgress(), wait);
  }

  /** Sends the last progress; from here on the channel is shut. */
  end(): void {
    this.#sendProgress();
    this.#ended = true;
    stopTimer(this.#noticeTimer);
    for (const asked of this.#asked.values()) asked.reject(endedError());
    this.#asked.clear();
    for (const asked of this.#waiting.splice(0)) asked.reject(endedError());
  }

  #sendNext(): void {
    const next = this.#waiting.findIndex(({ question }) => this.#open.mayOpen(question.method));
    const [asked] = next < 0 ? [] : this.#waiting.splice(next, 1);
    if (asked) this.#send(asked);
  }

  #send(asked: Asked): void {
    if (this.#ended) {
      asked.reject(endedError());
      return;
    }
    const { method, subject, value } = asked.question;
    const question = this.#questions++;
    this.#open.open(method);
    this.#asked.set(question, asked);
    this.#post(encodeFrame({ kind: "ask", call: this.#call, question, method, subject }, value));
  }

  #sendProgress(): void {
    stopTimer(this.#progressTimer);
    this.#progressTimer = undefined;
    const newest = this.#newest;
    if (newest === undefined || this.#ended) return;
    this.#newest = undefined;
    this.#progressSentAt = performance.now();
    const { percent, phase } = newest;
    const said = phase === undefined ? { percent } : { percent, phase };
    this.#post(encodeFrame({ kind: "progress", call: this.#call, ...said }));
  }
}

function endedError(): Error {
  return new Error("the call has ended; its host no longer answers");
}
