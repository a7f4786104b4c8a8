import type { Attributes, GaugeReader, Meter } from "../ports/platform.ts";

interface Summary {
  count: number;
  sum: number;
  p50: number;
  p95: number;
  p99: number;
}

/** How many readings of one series are kept for its percentiles; the newest win. */
const WINDOW = 4_096;

/** Counters and percentiles in this process: enough to see how calls fare without any service. */
export class MemoryMeter implements Meter {
  readonly #instruments = new Map<string, Map<string, Series>>();
  readonly #gauges = new Map<string, Set<GaugeReader>>();

  createCounter(name: string) {
    return { add: this.#recorder(name) };
  }

  createHistogram(name: string) {
    return { record: this.#recorder(name) };
  }

  createObservableGauge(name: string) {
    const readers = this.#gauges.get(name) ?? new Set();
    this.#gauges.set(name, readers);
    return {
      addCallback: (read: GaugeReader) => void readers.add(read),
      removeCallback: (read: GaugeReader) => void readers.delete(read),
    };
  }

  /** What a gauge says now, summed over every series whose attributes include these; undefined when it says nothing. */
  reading(name: string, attributes: Attributes = {}): number | undefined {
    let sum: number | undefined;
    const observe = (value: number, given: Attributes = {}) => {
      if (includes(given, attributes)) sum = (sum ?? 0) + value;
    };
    for (const read of this.#gauges.get(name) ?? []) read({ observe });
    return sum;
  }

  /** The counter's value, summed over every series whose attributes include these. */
  total(name: string, attributes: Attributes = {}): number {
    const series = [...(this.#instruments.get(name)?.values() ?? [])];
    return series
      .filter((each) => includes(each.attributes, attributes))
      .reduce((sum, each) => sum + each.sum, 0);
  }

  summary(name: string, attributes: Attributes = {}): Summary {
    return (this.#instruments.get(name)?.get(keyOf(attributes)) ?? new Series(attributes)).summary();
  }

  /** Takes readings of an instrument. The same object of attributes is looked up once. */
  #recorder(name: string): (value: number, attributes?: Attributes) => void {
    const all = this.#instruments.get(name) ?? new Map<string, Series>();
    this.#instruments.set(name, all);
    const known = new WeakMap<Attributes, Series>();
    return (value, attributes = {}) => {
      const series = known.get(attributes) ?? all.get(keyOf(attributes)) ?? new Series(attributes);
      if (series.count === 0) all.set(keyOf(attributes), series);
      known.set(attributes, series);
      series.add(value);
    };
  }
}

/** The readings of one instrument with the same attributes. */
class Series {
  readonly attributes: Attributes;
  readonly #window: number[] = [];
  count = 0;
  sum = 0;

  constructor(attributes: Attributes) {
    this.attributes = { ...attributes };
  }

  add(value: number): void {
    this.#window[this.count % WINDOW] = value;
    this.count += 1;
    this.sum += value;
  }

  summary(): Summary {
    const sorted = this.#window.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
    return { count: this.count, sum: this.sum, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
  }
}

function keyOf(attributes: Attributes): string {
  return JSON.stringify(Object.entries(attributes).sort());
}

function includes(attributes: Attributes, wanted: Attributes): boolean {
  return Object.entries(wanted).every(([name, value]) => attributes[name] === value);
}
