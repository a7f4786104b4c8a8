const SHORT = 64;

/** Bytes of a text in UTF-8, or -1 when it is not well-formed. Short ASCII, the usual case, needs no native call. */
export function utf8Length(text: string): number {
  const { length } = text;
  if (length <= SHORT && isAscii(text, length)) return length;
  return text.isWellFormed() ? Buffer.byteLength(text, "utf8") : -1;
}

function isAscii(text: string, length: number): boolean {
  for (let index = 0; index < length; index += 1) {
    if (text.charCodeAt(index) > 0x7f) return false;
  }
  return true;
}
