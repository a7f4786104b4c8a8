import type { Clock } from "@sallyport/engine";
import type { OpenQuestions } from "./open-questions.ts";

export interface WatchOptions {
  questions: OpenQuestions;
  clock: Clock;
  /** How often it looks at all. */
  pollMs: number;
  onTrouble(error: unknown): void;
}

/** After trouble with the store it does not look again at once. */
const REST_MS = 1_000;

/** One look after the other: at what the bus names, at what is due for its next level, and now and then at all. */
export class Watch {
  readonly #options: WatchOptions;
  #looks: Promise<void> = Promise.resolve();
  #allAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#look(() => this.#onTime());
  }

  lookAt(approvalId: string): void {
    this.#look(() => this.#options.questions.lookAt(approvalId));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#looks;
  }

  #look(look: () => Promise<void>): void {
    this.#looks = this.#looks.then(async () => {
      if (this.#closed) return;
      try {
        await look();
        this.#wakeAfter(0);
      } catch (error) {
        this.#options.onTrouble(error);
        this.#wakeAfter(REST_MS);
      }
    });
  }

  async #onTime(): Promise<void> {
    const { questions, clock, pollMs } = this.#options;
    if (clock.now() < this.#allAt) return await questions.lookAtEnded();
    await questions.lookAtAll();
    this.#allAt = clock.now() + pollMs;
  }

  #wakeAfter(restMs: number): void {
    const { questions, clock, pollMs } = this.#options;
    clearTimeout(this.#timer);
    if (this.#closed) return;
    const at = Math.min(this.#allAt, questions.nextAt() ?? this.#allAt);
    const waitMs = Math.min(Math.max(at - clock.now(), restMs), Math.max(pollMs, restMs));
    this.#timer = setTimeout(() => this.#look(() => this.#onTime()), waitMs).unref();
  }
}
