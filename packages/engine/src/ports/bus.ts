import type { JsonObject } from "@sallyport/protocol";

export const CHANNELS = [
  "policy:updates",
  "token:revocations",
  "grants:updates",
  "approvals:updates",
] as const;
export type Channel = (typeof CHANNELS)[number];

export type Listener = (message: JsonObject) => void;

/**
 * Tells everybody who shares the store that something changed. A message is a hint to look again: the store has the
 * truth, so a lost message may delay a reader but never make a wrong thing right.
 */
export interface Bus {
  /** Never rejects and never waits for the listeners. */
  publish(channel: Channel, message: JsonObject): void;
  /** Returns how to stop listening. A listener that throws disturbs nobody. */
  subscribe(channel: Channel, listener: Listener): () => void;
}
