const SECOND_MS = 1_000;
/** A receiver may delay the next try, but not for ever. */
const LONGEST_MS = 24 * 3_600_000;

/** How long a `Retry-After` asks to wait, in seconds or until a date; undefined when it cannot be read. */
export function readRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : undefined;
  const waitMs = seconds === undefined ? dateOf(text) - now : seconds * SECOND_MS;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), LONGEST_MS);
}

/** Only the form HTTP has dates in: the rest of what Date reads depends on the machine. */
function dateOf(text: string): number {
  return /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
}
