/** Stands for an answer that did not come in time. */
export const LATE = Symbol("late");

/** The promise's value, or `LATE` when it takes longer; the promise itself is left to finish on its own. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, ms, LATE);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
