import type { Attributes, GaugeReader, Meter } from "../ports/platform.ts";

export interface Summary {
  count: number;
  sum: number;
  p50: number;
  p95: number;
  p99: number;
}

/** How many readings of one histogram are kept for its percentiles; the newest win. */
const WINDOW = 4_096;

/** Counters and percentiles in this process: enough to see how calls fare without any service. */
export class MemoryMeter implements Meter {
  readonly #counters = new Map<string, number>();
  readonly #histograms = new Map<string, Readings>();
  readonly #gauges = new Map<string, Set<GaugeReader>>();

  createCounter(name: string) {
    return {
      add: (value: number, attributes: Attributes = {}) => {
        const key = series(name, attributes);
        this.#counters.set(key, (this.#counters.get(key) ?? 0) + value);
      },
    };
  }

  createHistogram(name: string) {
    const known = new WeakMap<Attributes, Readings>();
    return {
      record: (value: number, attributes: Attributes = {}) => {
        const readings = known.get(attributes) ?? this.#readings(series(name, attributes));
        known.set(attributes, readings);
        readings.add(value);
      },
    };
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
      if (isSeriesOf(series(name, given), name, attributes)) sum = (sum ?? 0) + value;
    };
    for (const read of this.#gauges.get(name) ?? []) read({ observe });
    return sum;
  }

  /** The counter's value, summed over every series whose attributes include these. */
  total(name: string, attributes: Attributes = {}): number {
    let sum = 0;
    for (const [key, value] of this.#counters) {
      if (isSeriesOf(key, name, attributes)) sum += value;
    }
    return sum;
  }

  #readings(key: string): Readings {
    const readings = this.#histograms.get(key) ?? new Readings();
    this.#histograms.set(key, readings);
    return readings;
  }

  summary(name: string, attributes: Attributes = {}): Summary {
    return (this.#histograms.get(series(name, attributes)) ?? new Readings()).summary();
  }
}

class Readings {
  readonly #window: number[] = [];
  #count = 0;
  #sum = 0;

  add(value: number): void {
    this.#window[this.#count % WINDOW] = value;
    this.#count += 1;
    this.#sum += value;
  }

  summary(): Summary {
    const sorted = this.#window.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
    return { count: this.#count, sum: this.#sum, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
  }
}

function series(name: string, attributes: Attributes): string {
  const labels = Object.entries(attributes).map(([key, value]) => `${key}=${value}`);
  return `${name}{${labels.sort().join(",")}}`;
}

function isSeriesOf(key: string, name: string, attributes: Attributes): boolean {
  const [head, labels = ""] = key.split("{");
  if (head !== name) return false;
  const present = new Set(labels.slice(0, -1).split(","));
  return Object.entries(attributes).every(([label, value]) => present.has(`${label}=${value}`));
}
