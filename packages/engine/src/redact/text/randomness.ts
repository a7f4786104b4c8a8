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

/** Names have one or two numbers in them. */
const FEW_NUMBERS = 3;
/** Mean lengths of stretches of one case: chance makes short ones, words in one case have no others between them. */
const SHORT_STRETCH = 2.8;
const WORD_STRETCH = 4;
const LONG_STRETCH = 9;

const SMALL = 0;
const CAPITAL = 1;
const DIGIT = 2;

function isMixed(text: string): boolean {
  const totals = [0, 0, 0];
  const stretches = [0, 0, 0];
  let before = -1;
  for (let at = 0; at < text.length; at += 1) {
    const kind = kindOf(text.charCodeAt(at));
    totals[kind] = (totals[kind] ?? 0) + 1;
    if (kind !== before) stretches[kind] = (stretches[kind] ?? 0) + 1;
    before = kind;
  }
  const mean = (kind: number) => (totals[kind] ?? 0) / Math.max(1, stretches[kind] ?? 0);
  const oneCase = totals[SMALL] === 0 || totals[CAPITAL] === 0;
  const hasNumbers = (stretches[DIGIT] ?? 0) >= FEW_NUMBERS;
  const longest = Math.max(mean(SMALL), mean(CAPITAL));
  if (oneCase) return hasNumbers && longest <= LONG_STRETCH;
  return longest <= (hasNumbers ? WORD_STRETCH : SHORT_STRETCH);
}

function kindOf(code: number): number {
  if (code >= 0x61) return SMALL;
  return code >= 0x41 ? CAPITAL : DIGIT;
}

/** Shannon's, in bits per character. */
function entropy(text: string): number {
  const counts = new Uint16Array(128);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    counts[code] = (counts[code] ?? 0) + 1;
  }
  let bits = 0;
  for (const count of counts) if (count > 0) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
