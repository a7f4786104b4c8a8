import { isUtf8 } from "node:buffer";

/** How much of a file is looked at to tell text from anything else. */
export const SNIFFED_BYTES = 8 * 1024;
const HEADER = "[binary:base64]";
const TRUNCATED = "[truncated]";

/** Whether the beginning of a file shows that it is no text: a NUL, or bytes that are not UTF-8. */
export function isBinary(content: Buffer): boolean {
  const head = content.subarray(0, SNIFFED_BYTES);
  if (head.includes(0)) return true;
  return !isUtf8(content.length > SNIFFED_BYTES ? wholeCharacters(head) : head);
}

/** Without a last character whose rest lies beyond what is looked at. */
function wholeCharacters(head: Buffer): Buffer {
  for (let back = 1; back <= 3; back += 1) {
    const byte = head[head.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    return byte >= lead(back) ? head.subarray(0, head.length - back) : head;
  }
  return head;
}

/** The smallest first byte of a character that is longer than that. */
function lead(bytes: number): number {
  return bytes === 1 ? 0xc0 : bytes === 2 ? 0xe0 : 0xf0;
}

/** How much of a binary file may be given back. */
export interface BinaryRoom {
  readLimit: number;
  outputLimit: number;
}

/** A file in base64 behind a header, all within the limit; undefined when not even the header fits. */
export function binaryText(content: Buffer, { readLimit, outputLimit }: BinaryRoom): string | undefined {
  const whole = `${HEADER}\n`;
  if (content.length <= readLimit && whole.length + base64Length(content.length) <= outputLimit)
    return whole + content.toString("base64");
  const cut = `${HEADER}${TRUNCATED}\n`;
  const room = outputLimit - cut.length;
  if (room < 0) return undefined;
  const bytes = Math.min(content.length, readLimit, Math.floor(room / 4) * 3);
  return cut + content.subarray(0, Math.max(0, bytes)).toString("base64");
}

function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
