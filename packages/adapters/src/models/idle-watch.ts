import { ModelTrouble } from "./model-trouble.ts";

const SECOND_MS = 1_000;

/** Gives up on a provider that says nothing. Counts only while somebody waits for it. */
export class IdleWatch {
  readonly #idleMs: number;
  readonly #controller = new AbortController();

  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  /** Aborts, with a ModelTrouble as its reason, when a wait took too long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for `work`. Rejects with a ModelTrouble when the time is over, whatever `work` itself rejects with. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#giveUp(), this.#idleMs);
    try {
      return await work();
    } catch (error) {
      throw this.signal.aborted ? this.signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
  }

  #giveUp(): void {
    const seconds = Math.round(this.#idleMs / SECOND_MS);
    this.#controller.abort(new ModelTrouble("timeout", `it sent nothing for ${seconds} s`));
  }
}
