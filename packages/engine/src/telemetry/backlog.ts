import type { Attributes } from "../ports/telemetry.ts";

/** How many single values may wait for the meter; beyond that new ones are dropped and counted. */
const MAX_VALUES = 50_000;
const FLUSH_MS = 250;

export interface Counter {
  add(value: number, attributes?: Attributes): void;
}

export interface Histogram {
  record(value: number, attributes?: Attributes): void;
}

interface Value {
  histogram: Histogram;
  value: number;
  attributes: Attributes;
}

interface Count {
  counter: Counter;
  attributes: Attributes;
  count: number;
}

/**
 * Readings on their way to the meter. Counts are added up and values gathered, and both are handed over a few times a
 * second, outside any call; whatever the meter throws is counted and forgotten.
 */
export class Backlog {
  readonly #counts = new Map<string, Count>();
  readonly #attributes = new Map<string, Attributes>();
  #values: Value[] = [];
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;

  /** Readings lost because the meter threw or could not keep up. */
  get dropped(): number {
    return this.#dropped;
  }

  /** One more; `series` names the counter and its attributes. */
  count(counter: Counter, series: string, attributes: Attributes): void {
    const known = this.#counts.get(series);
    if (known) {
      known.count += 1;
      return;
    }
    this.#counts.set(series, { counter, attributes, count: 1 });
    this.#schedule();
  }

  value(histogram: Histogram, value: number, attributes: Attributes): void {
    if (this.#values.length >= MAX_VALUES) {
      this.#dropped += 1;
      return;
    }
    this.#values.push({ histogram, value, attributes });
    this.#schedule();
  }

  /** One object for the same attributes, so that a meter can recognise them. */
  shared(key: string, attributes: Attributes): Attributes {
    const known = this.#attributes.get(key);
    if (known) return known;
    this.#attributes.set(key, attributes);
    return attributes;
  }

  /** Hands over everything that waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const values = this.#values;
    const counts = [...this.#counts.values()];
    this.#values = [];
    this.#counts.clear();
    this.#attributes.clear();
    for (const { counter, count, attributes } of counts) this.hand(() => counter.add(count, attributes));
    for (const { histogram, value, attributes } of values)
      this.hand(() => histogram.record(value, attributes));
  }

  /** Does something with the meter, whatever it throws. */
  hand(give: () => void): void {
    try {
      give();
    } catch {
      this.#dropped += 1;
    }
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }
}
