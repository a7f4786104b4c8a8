/** Stands where a value was taken out because of the name of its field. */
export const REDACTED = "[REDACTED]";

/** Stands where text was taken out because of its own look, and says what it looked like. */
export function markerOf(type: string): string {
  return `[REDACTED_${type}]`;
}

const MARKER = /^\[REDACTED(?:_[A-Z0-9_]+)?\]$/;
const LONGEST_MARKER = 64;

/** Whether the whole text is a marker, so that redacting twice gives what redacting once did. */
export function isMarker(text: string): boolean {
  return text.length <= LONGEST_MARKER && MARKER.test(text);
}
