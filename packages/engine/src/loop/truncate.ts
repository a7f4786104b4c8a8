/** Ends an output that was cut. */
export const TRUNCATION_MARKER = "\n\n... [output truncated]";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * The text in at most so many UTF-8 bytes, the marker included; no character is split (FR-OUT-04a). Where not even
 * the marker fits, as much of it as does.
 */
export function truncateOutput(text: string, effectiveMaxBytes: number): string {
  const max = room(effectiveMaxBytes);
  if (Buffer.byteLength(text) <= max) return text;
  if (max <= TRUNCATION_MARKER.length) return TRUNCATION_MARKER.slice(0, max);
  return firstBytes(text, max - TRUNCATION_MARKER.length) + TRUNCATION_MARKER;
}

/**
 * Beginning and end of a text, with a note between them that says how many bytes are left out; all of it in at most
 * `maxBytes`. A note that does not fit is cut itself.
 */
export function headAndTail(text: string, maxBytes: number, note: (omittedBytes: number) => string): string {
  const max = room(maxBytes);
  const total = Buffer.byteLength(text);
  if (total <= max) return text;
  const longest = note(total);
  const kept = max - Buffer.byteLength(longest);
  if (kept <= 0) return firstBytes(longest, max);
  const head = firstBytes(text, Math.ceil(kept / 2));
  const tail = lastBytes(text, Math.floor(kept / 2));
  const middle = note(total - Buffer.byteLength(head) - Buffer.byteLength(tail));
  // A note may be longer for a smaller number, whatever its author thought.
  return firstBytes(head + middle + tail, max);
}

/** As many whole characters from the beginning as fit. Where the slice cuts a pair, its first half does not fit. */
function firstBytes(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return text;
  const { read } = encoder.encodeInto(text.slice(0, maxBytes), new Uint8Array(maxBytes));
  return text.slice(0, read);
}

/** As many whole characters from the end as fit. A slice of that many code units is never fewer bytes. */
function lastBytes(text: string, maxBytes: number): string {
  if (maxBytes <= 0) return "";
  const bytes = encoder.encode(text.slice(-maxBytes));
  let start = Math.max(0, bytes.length - maxBytes);
  while (start < bytes.length && isContinuation(bytes[start])) start += 1;
  return decoder.decode(bytes.subarray(start));
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function room(bytes: number): number {
  return Number.isNaN(bytes) ? 0 : Math.max(0, Math.floor(Math.min(bytes, Number.MAX_SAFE_INTEGER)));
}
