import { timerMs } from "./timeouts.ts";

/** When `waitUntil` reads again. */
interface WaitOptions {
  /** How long to wait between two reads, at most. A function is asked before each wait. */
  everyMs: number | (() => number);
  /** Listens for news that make a new read worthwhile; returns how to stop listening. News during a read counts. */
  hint?: (wake: () => void) => () => void;
  /** Ends the wait. */
  signal?: AbortSignal;
}

/**
 * Reads until there is a value: at once, after every hint, and at the latest after `everyMs`. Hints may get lost, so
 * that they shorten the wait and decide nothing. Undefined when the signal is aborted; rejects with what `read` throws.
 */
export async function waitUntil<T>(
  read: () => T | undefined | Promise<T | undefined>,
  { everyMs, hint, signal }: WaitOptions,
): Promise<T | undefined> {
  let hinted = false;
  let wake: (() => void) | undefined;
  const onHint = () => {
    hinted = true;
    wake?.();
  };
  const stop = hint?.(onHint);
  signal?.addEventListener("abort", onHint, { once: true });
  try {
    while (!signal?.aborted) {
      hinted = false;
      const value = await read();
      if (value !== undefined) return value;
      if (hinted) continue;
      const ms = typeof everyMs === "number" ? everyMs : everyMs();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timerMs(ms));
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      wake = undefined;
    }
    return undefined;
  } finally {
    stop?.();
    signal?.removeEventListener("abort", onHint);
  }
}
