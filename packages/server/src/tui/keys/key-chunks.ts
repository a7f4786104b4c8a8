import { letterOf, type Press } from "./press.ts";

/** Something that came from the terminal. */
export type Arrival = { kind: "press"; press: Press } | { kind: "paste"; text: string };

/**
 * Puts together again what came from the terminal in one piece. Ink reads a piece in one go and tells of its keys one
 * by one, so they are collected until it is done.
 */
export class KeyChunks {
  readonly #take: (chunk: readonly Arrival[]) => void;
  #waiting: Arrival[] = [];

  constructor(take: (chunk: readonly Arrival[]) => void) {
    this.#take = take;
  }

  add(arrival: Arrival): void {
    this.#waiting.push(arrival);
    if (this.#waiting.length === 1) queueMicrotask(() => this.#whole());
  }

  #whole(): void {
    const chunk = this.#waiting;
    this.#waiting = [];
    this.#take(chunk);
  }
}

/** True when the piece was a single key. */
export function isOneKey(chunk: readonly Arrival[]): boolean {
  const [first] = chunk;
  if (chunk.length !== 1 || first?.kind !== "press") return false;
  const { press } = first;
  return press.key !== "text" || press.ctrl || press.alt || letterOf(press) !== "";
}
