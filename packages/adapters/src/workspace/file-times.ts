/** Up to here, in 2242, seconds as Node takes them tell microseconds apart; before 1970 it takes none. */
const LAST_NS = 2n ** 33n * 1_000_000_000n - 1_000n;

/** The nearest time that can be set: the same but for those before 1970 and from 2242 on. */
export function settableTime(ns: string): string {
  const time = BigInt(ns);
  if (time < 0n) return "0";
  return time > LAST_NS ? `${LAST_NS}` : ns;
}

/** Nanoseconds as the seconds that Node takes; it keeps microseconds of them. */
export function secondsOf(ns: string): number {
  // Half a microsecond more, so that the cut that follows does not take one away.
  return Number(BigInt(settableTime(ns)) / 1_000n) / 1e6 + 2e-7;
}

/** A time for people, whatever year it is in. */
export function dayOf(ns: string): string {
  return new Date(Number(BigInt(ns) / 1_000_000n)).toISOString().slice(0, -14);
}
