const HEX = /^(?:0x)?[0-9a-fA-F]*$/;
const HEX_AND_SEPARATORS = /^[0-9a-fA-F_-]*$/;
const SEPARATORS = /[-_]+/;
/** Shorter parts are words and the groups of a UUID. */
const SHORTEST_PART = 14;
const LEAST_ENTROPY = 3.6;

/**
 * Whether a run of letters and digits was made by chance. Hexadecimal is not: it may be a digest or an id, and nothing
 * tells a key from those. Words give themselves away by their long stretches of small or of capital letters.
 */
export function looksRandom(run: string): boolean {
  if (HEX_AND_SEPARATORS.test(run)) return false;
  const parts = run.split(SEPARATORS);
  if (!parts.some((part) => part.length >= SHORTEST_PART && !HEX.test(part))) return false;
  const letters = parts.filter((part) => !HEX.test(part) || part.length < 8).join("");
  return isMixed(letters) && entropy(letters) >= LEAST_ENTROPY;
}

function isMixed(text: string): boolean {
  const small = stretches(text, /[a-z]+/g);
  const capital = stretches(text, /[A-Z]+/g);
  const digits = stretches(text, /\d+/g);
  const oneCase = small.count === 0 || capital.count === 0;
  if (oneCase && digits.total < text.length / 8) return false;
  return Math.max(small.mean, capital.mean) <= (oneCase ? 5 : 2.8);
}

function stretches(text: string, kind: RegExp): { count: number; total: number; mean: number } {
  const found = text.match(kind) ?? [];
  const total = found.reduce((sum, { length }) => sum + length, 0);
  return { count: found.length, total, mean: found.length === 0 ? 0 : total / found.length };
}

/** Shannon's, in bits per character. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
