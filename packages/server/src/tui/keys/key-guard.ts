/** So long no key may have come before one counts. */
export const QUIET_MS = 300;

type Guarding =
  | { state: "unseen" }
  | { state: "quiet"; timer: NodeJS.Timeout }
  /** The time went by; what still waits to be read came before. */
  | { state: "settling"; turn: NodeJS.Immediate }
  | { state: "armed" };

/**
 * Keeps keys from answering what nobody can have read:
 *
 *   unseen ─painted→ quiet ─300 ms without a key→ settling ─nothing was waiting→ armed
 *                      ▲──────────── a key ───────────┘
 *
 * Keys count when it is armed. A key that comes before restarts the wait: who is in the middle of typing has not read.
 * On a machine that was busy, keys may have waited unread while the time went by; `settling` lets them come in first.
 */
export class KeyGuard {
  readonly #armedNow: () => void;
  #guarding: Guarding = { state: "unseen" };

  /** `armedNow` is told when keys begin to count. */
  constructor(armedNow: () => void) {
    this.#armedNow = armedNow;
  }

  get armed(): boolean {
    return this.#guarding.state === "armed";
  }

  /** There is something new to read, or nothing any more. */
  reset(): void {
    this.#stop();
    this.#guarding = { state: "unseen" };
  }

  /** It is on the screen now. */
  painted(): void {
    if (this.#guarding.state === "unseen") this.#wait();
  }

  /** A key came. True when it counts. */
  counts(): boolean {
    if (this.#guarding.state === "armed") return true;
    if (this.#guarding.state !== "unseen") this.#wait();
    return false;
  }

  #wait(): void {
    this.#stop();
    this.#guarding = { state: "quiet", timer: setTimeout(() => this.#settle(), QUIET_MS) };
  }

  #settle(): void {
    this.#guarding = { state: "settling", turn: setImmediate(() => this.#arm()) };
  }

  #arm(): void {
    this.#guarding = { state: "armed" };
    this.#armedNow();
  }

  #stop(): void {
    if (this.#guarding.state === "quiet") clearTimeout(this.#guarding.timer);
    if (this.#guarding.state === "settling") clearImmediate(this.#guarding.turn);
  }
}
