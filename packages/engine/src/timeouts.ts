/** The longest time a timer of the platform can wait, about 25 days; it fires at once when it is given more. */
const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * A limit as a timer can keep it: one beyond what timers can do, `Infinity` included, waits as long as they can; time that
 * is over already is none.
 */
export function timerMs(limitMs: number): number {
  return Math.max(0, Math.min(limitMs, LONGEST_TIMER_MS));
}

/** Stands for an answer that did not come in time. */
export const TIMED_OUT = Symbol("late");

/** The promise's value, or `TIMED_OUT` when it takes longer; the promise itself is left to finish on its own. */
export async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T | typeof TIMED_OUT> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof TIMED_OUT>((resolve) => {
    timer = setTimeout(resolve, timerMs(ms), TIMED_OUT);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
