import { randomBytes } from "node:crypto";

const SANE = /^[A-Za-z0-9][\w.:-]{0,127}$/;

/** Names the requests of one door. Names tell requests apart; nothing is safe because one cannot be guessed. */
export class RequestIds {
  readonly #door = randomBytes(12).toString("hex");
  #made = 0;

  /** The sender's own name for its request, if it is one that can stand in any log or header; else a new one. */
  of(given: unknown): string {
    return typeof given === "string" && SANE.test(given) ? given : this.next();
  }

  next(): string {
    this.#made += 1;
    return `${this.#door}-${this.#made.toString(36)}`;
  }
}
