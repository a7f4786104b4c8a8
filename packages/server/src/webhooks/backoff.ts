import type { Random } from "@sallyport/engine/ports";

const [SECOND_MS, MINUTE_MS, HOUR_MS] = [1_000, 60_000, 3_600_000];

/** Between the tries of a callback; after the last one that wait is repeated. About five hours in all. */
export const CALLBACK_WAITS_MS: readonly number[] = [
  10 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
];

/** Between the tries of a notice: people wait for it, and after an hour by default others are asked. */
export const NOTICE_WAITS_MS: readonly number[] = [
  5 * SECOND_MS,
  15 * SECOND_MS,
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
];

/** Up to a fifth more, so that what failed together does not come back together. */
const JITTER = 0.2;

export interface Backoff {
  waitsMs: readonly number[];
  random: Random;
}

/** How long to wait after so many tries (from 1): never less than the receiver asked for. */
export function waitAfter(tries: number, { waitsMs, random }: Backoff, retryAfterMs = 0): number {
  const waitMs = waitsMs[Math.min(tries, waitsMs.length) - 1] ?? 0;
  return Math.round(Math.max(waitMs, retryAfterMs) * (1 + JITTER * random()));
}
