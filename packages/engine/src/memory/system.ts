import { randomFillSync } from "node:crypto";
import type { ErrorHandler, ErrorReport } from "../ports/telemetry.ts";
import type { Clock, Ids } from "../ports/time.ts";

export const systemClock: Clock = { now: () => Date.now(), elapsed: () => performance.now() };

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
