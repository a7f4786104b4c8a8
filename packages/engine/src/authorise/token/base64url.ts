/** Last characters that leave no bit over, by how many characters stand beyond the last full four. */
const LAST = { 2: "AQgw", 3: "AEIMQUYcgkosw048" } as const;

/**
 * The bytes of a text in base64url. Of all spellings a lax decoder takes for them only the canonical one is accepted,
 * else undefined: no padding, no other alphabet, nothing skipped, no bits left over. Encoding the bytes again to compare
 * would say the same and cost a token three percent of its verification.
 */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  const beyond = text.length % 4;
  // Node skips what it cannot decode, so any such character makes the bytes too few.
  if (beyond === 1 || bytes.length !== Math.floor((text.length * 3) / 4)) return undefined;
  if (text.includes("+") || text.includes("/")) return undefined;
  // Of a character beyond Latin-1 Node sees the lower byte alone, which may well be a letter.
  if (Buffer.byteLength(text) !== text.length) return undefined;
  if (beyond === 0) return bytes;
  return LAST[beyond === 2 ? 2 : 3].includes(text.charAt(text.length - 1)) ? bytes : undefined;
}
