import { randomFillSync } from "node:crypto";
import { totalmem } from "node:os";
import type { JsonObject } from "@sallyport/protocol";
import type {
  Bus,
  Channel,
  Clock,
  ErrorHandler,
  ErrorReport,
  HostResources,
  Ids,
  Listener,
} from "../ports/platform.ts";

export const systemClock: Clock = { now: () => Date.now(), elapsed: () => performance.now() };

/** The memory of the machine, or of the cgroup around this process where that is less. */
export const systemHost: HostResources = {
  memoryBytes: () => Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()),
};

/** Of the 32 digits of an id twelve are the time, one the version, three a count, and 16 random; one of those says the variant. */
const RANDOM_CHARS = 16;
const POOL_BYTES = 16 * 128;
const IDS_PER_MS = 0x1000;
const POOL_CHARS = 2 * POOL_BYTES;
const VARIANTS = ["8", "9", "a", "b"];

/**
 * UUIDs of version 7: they sort by time, and those of one generator in the order they were made, so new calls go to the
 * end of an index and lists of one moment are in order.
 */
export function uuidV7(now: () => number = Date.now): Ids {
  const pool = Buffer.alloc(POOL_BYTES);
  let hex = "";
  let used = POOL_CHARS;
  let last = 0;
  let count = 0;
  return {
    next() {
      if (used === POOL_CHARS) {
        hex = randomFillSync(pool).toString("hex");
        used = 0;
      }
      const random = hex.slice(used, used + RANDOM_CHARS);
      used += RANDOM_CHARS;
      const at = Math.floor(now());
      count = at > last ? 0 : count + 1;
      last = Math.max(at, count === IDS_PER_MS ? last + 1 : last);
      count %= IDS_PER_MS;
      const time = last.toString(16).padStart(12, "0");
      const within = count.toString(16).padStart(3, "0");
      const variant = VARIANTS[random.charCodeAt(0) % VARIANTS.length];
      return `${time.slice(0, 8)}-${time.slice(8)}-7${within}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
    },
  };
}

const KEPT_REPORTS = 100;

/** Keeps the newest reports, for a person or a test to look at. */
export class RecentErrors implements ErrorHandler {
  readonly #reports: ErrorReport[] = [];

  get reports(): readonly ErrorReport[] {
    return this.#reports;
  }

  report(report: ErrorReport): void {
    this.#reports.push(report);
    if (this.#reports.length > KEPT_REPORTS) this.#reports.shift();
  }
}

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
