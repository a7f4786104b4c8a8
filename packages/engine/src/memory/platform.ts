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

const POOL_BYTES = 4_096;
const ID_BYTES = 16;

/** UUIDs of version 7: they sort by time, so new calls go to the end of an index. */
export function uuidV7(now: () => number = Date.now): Ids {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  return {
    next() {
      if (used === POOL_BYTES) {
        randomFillSync(pool);
        used = 0;
      }
      const bytes = pool.subarray(used, used + ID_BYTES);
      used += ID_BYTES;
      bytes.writeUIntBE(now(), 0, 6);
      bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
      bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
      const hex = bytes.toString("hex");
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
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
