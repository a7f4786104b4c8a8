/** A piece of what a process wrote, as JSON can carry it. */
export interface Piece {
  chunk: string;
  /** Present when it is no text. */
  encoding?: "base64";
}

const NOTHING = new Uint8Array(0);

/**
 * The chunks of one stream as text. A character that a chunk ends in the middle of is held back until the rest of it
 * comes; bytes that are no UTF-8 are passed on as base64, none is lost or replaced.
 */
export class OutputText {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #held: Uint8Array = NOTHING;

  /** What can be passed on now; undefined when all of it is held back. */
  push(chunk: Uint8Array): Piece | undefined {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const whole = wholeLength(bytes);
    const text = this.#decoded(bytes.subarray(0, whole));
    this.#held = text === undefined ? NOTHING : bytes.slice(whole);
    if (text === undefined) return asBase64(bytes);
    return text === "" ? undefined : { chunk: text };
  }

  /** What is held back and will never be completed. */
  flush(): Piece | undefined {
    const held = this.#held;
    this.#held = NOTHING;
    return held.length === 0 ? undefined : asBase64(held);
  }

  #decoded(bytes: Uint8Array): string | undefined {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      return undefined;
    }
  }
}

function asBase64(bytes: Uint8Array): Piece {
  return { chunk: Buffer.from(bytes).toString("base64"), encoding: "base64" };
}

/** How many bytes there are before a character that the last bytes only begin. */
function wholeLength(bytes: Uint8Array): number {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back += 1) {
    const byte = bytes[length - back] ?? 0;
    const isContinuation = (byte & 0xc0) === 0x80;
    if (!isContinuation) return charLength(byte) > back ? length - back : length;
  }
  return length;
}

/** How many bytes a character has that begins with this one; 1 for a byte that begins none. */
function charLength(lead: number): number {
  if (lead >= 0xf5 || lead < 0xc2) return 1;
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}
