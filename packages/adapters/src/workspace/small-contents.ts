const LARGEST = 64 * 1024;
const ROOM = 8 * 1024 * 1024;

/** Contents of small files that were read to hash them, kept so that they need not be read for diff and commit again. */
export class SmallContents {
  readonly #kept = new Map<string, Buffer>();
  #room = ROOM;

  /** Whether one of that size is worth reading as a whole. */
  fits(bytes: number): boolean {
    return bytes <= LARGEST && bytes <= this.#room;
  }

  keep(side: "before" | "after", path: string, content: Buffer): void {
    if (!this.fits(content.length)) return;
    this.#room -= content.length;
    this.#kept.set(`${side} ${path}`, content);
  }

  get(side: "before" | "after", path: string): Buffer | undefined {
    return this.#kept.get(`${side} ${path}`);
  }
}
