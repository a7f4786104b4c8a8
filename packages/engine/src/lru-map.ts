/**
 * A map of bounded size: one entry beyond the capacity drops the entry that was used longest ago. `get` and `set` use an
 * entry, iterating does not. A capacity of zero or less keeps nothing.
 */
export class LruMap<K, V> {
  /** In the order of their last use. */
  readonly #entries = new Map<K, V>();
  readonly #capacity: number;
  /** The key used last: using it again changes no order. */
  #latest: K | undefined;
  /** Stands before the entry used longest ago. A new iterator would pass every entry that was dropped before, each time. */
  #oldest: MapIterator<K> | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || key === this.#latest) return value;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#latest = key;
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#latest = key;
    if (this.#entries.size > this.#capacity) this.#dropOldest();
  }

  #dropOldest(): void {
    this.#oldest ??= this.#entries.keys();
    const next = this.#oldest.next();
    if (!next.done) this.#entries.delete(next.value);
    // An iterator that has reached the end stays there.
    if (next.done || this.#entries.size === 0) this.#oldest = undefined;
  }

  /** The value of the key; made and kept when there is none yet. */
  getOrAdd(key: K, make: (key: K) => V): V {
    const known = this.get(key);
    if (known !== undefined) return known;
    const made = make(key);
    this.set(key, made);
    return made;
  }

  delete(key: K): boolean {
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#oldest = undefined;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** From the entry used longest ago to the latest. */
  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#entries.entries();
  }
}
