/** How many deliveries are under way: in all, and to each origin, so that a slow one does not hold up the others. */
export class Slots {
  readonly #most: number;
  readonly #perOrigin: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor({ most, perHost }: { most: number; perHost: number }) {
    this.#most = most;
    this.#perOrigin = perHost;
  }

  get isFull(): boolean {
    return this.#all >= this.#most;
  }

  /** The origins that have no place, as the URLs to them begin. */
  get full(): string[] {
    return [...this.#taken].flatMap(([origin, taken]) => (taken >= this.#perOrigin ? origin : []));
  }

  /** Takes a place for a delivery to this URL. Returns how to give it back, once. */
  take(url: string): () => void {
    const origin = `${URL.parse(url)?.origin ?? url}/`;
    this.#count(origin, 1);
    return () => this.#count(origin, -1);
  }

  #count(origin: string, by: 1 | -1): void {
    const taken = (this.#taken.get(origin) ?? 0) + by;
    if (taken > 0) this.#taken.set(origin, taken);
    else this.#taken.delete(origin);
    this.#all += by;
  }
}
