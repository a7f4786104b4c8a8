/** Nanoseconds as the seconds that Node takes; it keeps microseconds of them. */
export function secondsOf(ns: string): number {
  // Half a microsecond more, so that the cut that follows does not take one away.
  return Number(BigInt(ns) / 1_000n) / 1e6 + 2e-7;
}
