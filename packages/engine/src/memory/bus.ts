import type { JsonObject } from "@sallyport/protocol";
import type { Bus, Channel, Listener } from "../ports/bus.ts";

/** Tells the listeners of this process. */
export class MemoryBus implements Bus {
  readonly #listeners = new Map<Channel, Set<Listener>>();

  publish(channel: Channel, message: JsonObject): void {
    for (const listener of [...(this.#listeners.get(channel) ?? [])]) {
      try {
        listener(structuredClone(message));
      } catch {
        // A hint that was not understood; the store still has the truth.
      }
    }
  }

  subscribe(channel: Channel, listener: Listener): () => void {
    const own: Listener = (message) => listener(message);
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(own));
    return () => void listeners.delete(own);
  }
}
