/** Cuts a stream of bytes into lines without ever holding more than one line of the allowed length. */
export class LineSplitter {
  readonly #maxBytes: number;
  #rest: Buffer[] = [];
  #restBytes = 0;
  #skipping = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that are complete now, without their ends; one that is too long comes as undefined. */
  push(chunk: Buffer): (Buffer | undefined)[] {
    const lines: (Buffer | undefined)[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      lines.push(this.#complete(chunk.subarray(start, end)));
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** True when the stream ended in the middle of a line. */
  get isInsideLine(): boolean {
    return this.#restBytes > 0 || this.#skipping;
  }

  #complete(tail: Buffer): Buffer | undefined {
    const tooLong = this.#skipping || this.#restBytes + tail.length > this.#maxBytes;
    const line = tooLong ? undefined : Buffer.concat([...this.#rest, tail]);
    this.#rest = [];
    this.#restBytes = 0;
    this.#skipping = false;
    return line;
  }

  #keep(part: Buffer): void {
    if (part.length === 0 || this.#skipping) return;
    if (this.#restBytes + part.length > this.#maxBytes) {
      this.#rest = [];
      this.#restBytes = 0;
      this.#skipping = true;
      return;
    }
    this.#rest.push(part);
    this.#restBytes += part.length;
  }
}
