import type { JsonObject } from "@sallyport/protocol";
import { MemoryBus } from "../memory/platform.ts";
import type { Bus, Channel, Listener } from "../ports/platform.ts";

/** What becomes of a message: lost, told twice, or told later and after newer ones. */
export type MessageFate = "told" | "lost" | "repeated" | "delayed";

/** A bus that treats messages as networks do. Hints must cost time only, whatever happens to them. */
export class FaultyBus implements Bus {
  readonly #bus: Bus;
  readonly #fateOf: (channel: Channel, message: JsonObject) => MessageFate;
  #delayed: (() => void)[] = [];

  constructor(fateOf: (channel: Channel, message: JsonObject) => MessageFate, bus: Bus = new MemoryBus()) {
    this.#bus = bus;
    this.#fateOf = fateOf;
  }

  publish(channel: Channel, message: JsonObject): void {
    const fate = this.#fateOf(channel, message);
    const copy = structuredClone(message);
    const tell = () => this.#bus.publish(channel, copy);
    if (fate === "delayed") this.#delayed.push(tell);
    if (fate === "told" || fate === "repeated") tell();
    if (fate === "repeated") tell();
  }

  subscribe(channel: Channel, listener: Listener): () => void {
    return this.#bus.subscribe(channel, listener);
  }

  /** Tells what was delayed, the newest first. */
  release(): void {
    const delayed = this.#delayed.reverse();
    this.#delayed = [];
    for (const tell of delayed) tell();
  }
}
