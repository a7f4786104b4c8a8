import type { Warn } from "./environment.ts";

/** Says once that a collector does not take what it is sent, however often it is tried, and once that it does again. */
export class Outage {
  readonly #what: string;
  readonly #warn: Warn;
  #isOut = false;

  constructor(what: string, warn: Warn) {
    this.#what = what;
    this.#warn = warn;
  }

  /** What came of sending something: undefined when it was taken. */
  sent(error: Error | undefined): void {
    if (error) this.#failed(error);
    else if (this.#isOut) {
      this.#isOut = false;
      this.#warn(`The collector takes ${this.#what} again.`);
    }
  }

  #failed({ message }: Error): void {
    if (this.#isOut) return;
    this.#isOut = true;
    const why = message === "" ? "no reason given" : message;
    this.#warn(`The collector does not take ${this.#what} (${why}). Calls go on; what it misses is lost.`);
  }
}
