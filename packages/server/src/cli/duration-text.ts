const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** A length of time in its largest whole unit, for people: `3 h`, `45 s`. */
export function lengthText(ms: number): string {
  for (const [unit, size] of UNITS) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return "under 1 s";
}

/** How long ago, or until when. */
export function relativeText(at: number, now: number): string {
  return at >= now ? `in ${lengthText(at - now)}` : `${lengthText(now - at)} ago`;
}
