/** How many deliveries may be under way: in all, and to one host, so that a slow one does not hold up the others. */
export class Slots {
  readonly #most: number;
  readonly #perHost: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor({ most, perHost }: { most: number; perHost: number }) {
    this.#most = most;
    this.#perHost = perHost;
  }

  get isFull(): boolean {
    return this.#all >= this.#most;
  }

  hasPlace(host: string): boolean {
    return !this.isFull && (this.#taken.get(host) ?? 0) < this.#perHost;
  }

  /** Takes a place for this host; false when there is none. */
  take(host: string): boolean {
    if (!this.hasPlace(host)) return false;
    this.#taken.set(host, (this.#taken.get(host) ?? 0) + 1);
    this.#all += 1;
    return true;
  }

  /** Gives one back. */
  free(host: string): void {
    const left = (this.#taken.get(host) ?? 0) - 1;
    if (left > 0) this.#taken.set(host, left);
    else this.#taken.delete(host);
    this.#all -= 1;
  }
}
