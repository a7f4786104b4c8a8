import type { Attributes, GaugeReader, Meter } from "../ports/platform.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** The upper bounds of the histograms' buckets: those that L3 part 2 names (L3P2-5), and finer ones where they tell calls apart. */
export const BUCKETS = {
  execution: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300],
  permission: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
  cpu: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60],
  io: [KIB, 10 * KIB, 100 * KIB, MIB, 10 * MIB],
  memory: [MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB, 4096 * MIB],
};

/** What is measured, under the names that dashboards know (L3P2-5, R1-8.2). */
export function createInstruments(meter: Meter) {
  const counter = (name: string, description: string) => meter.createCounter(name, { description });
  const histogram = (name: string, description: string, [unit, bounds]: [unit: string, bounds: number[]]) =>
    meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries: [...bounds] } });
  const different =
    "Results of deterministic tools that differ from an earlier one for the same input and state";
  return {
    counters: {
      invocations: counter("tool_invocations_total", "Calls, by how they ended"),
      failures: counter("tool_failures_total", "Calls that did not succeed, by code"),
      transitions: counter("tool_lifecycle_transitions_total", "Lifecycle states entered"),
      rollbacks: counter("tool_rollbacks_total", "Executions rolled back"),
      differences: counter("tool_output_differences_total", different),
      checks: counter("permission_checks_total", "Authorisation decisions"),
      denials: counter("capability_denials_total", "Calls denied by authorisation"),
    },
    histograms: {
      checks: histogram("permission_check_duration_seconds", "Time a decision took", [
        "s",
        BUCKETS.permission,
      ]),
      duration: histogram("tool_execution_duration_seconds", "Time a call took", ["s", BUCKETS.execution]),
      cpu: histogram("tool_cpu_seconds", "CPU time a call used", ["s", BUCKETS.cpu]),
      io: histogram("tool_io_bytes", "Bytes that went into a tool and came out of it", ["By", BUCKETS.io]),
      memory: histogram("tool_memory_peak_bytes", "Largest memory a call was seen to use", [
        "By",
        BUCKETS.memory,
      ]),
    },
  };
}

/** How busy an engine is. */
export interface Load {
  /** Calls that run. */
  running: number;
  /** Calls whose callers wait for a slot. */
  waiting: number;
  /** Accepted calls that nobody waits for; they are on record. */
  queued: number;
}

/** Lets a meter read the load whenever it is looked at, where it has gauges. Returns how to stop. */
export function watchLoad(meter: Meter, load: () => Load, attributes: Attributes): () => void {
  const gauge = (name: string, description: string) => meter.createObservableGauge?.(name, { description });
  const active = gauge("tool_executions_active", "Calls that run now");
  const queue = gauge("tool_queue_length", "Calls that wait to run");
  const readActive: GaugeReader = (reading) => reading.observe(load().running, attributes);
  const readQueue: GaugeReader = (reading) => {
    const { waiting, queued } = load();
    reading.observe(waiting, { ...attributes, kind: "waiting" });
    reading.observe(queued, { ...attributes, kind: "queued" });
  };
  active?.addCallback(readActive);
  queue?.addCallback(readQueue);
  return () => {
    active?.removeCallback(readActive);
    queue?.removeCallback(readQueue);
  };
}

/** How many single values may wait for the meter; beyond that new ones are dropped and counted. */
const MAX_VALUES = 50_000;
const FLUSH_MS = 250;

interface Counter {
  add(value: number, attributes?: Attributes): void;
}

interface Histogram {
  record(value: number, attributes?: Attributes): void;
}

/** One instrument with one set of attributes. Below it are those whose attributes begin with the same values. */
interface Series {
  attributes: Attributes | undefined;
  count: number;
  readonly below: Map<Attributes[string], Series>;
}

/**
 * Readings on their way to the meter. Counts are added up and values gathered, and both are handed over a few times a
 * second, outside any call; whatever the meter throws is counted and forgotten.
 */
export class MetricBuffer {
  readonly #series = new Map<Counter | Histogram, Series>();
  #counted: { counter: Counter; series: Series }[] = [];
  #values: { histogram: Histogram; value: number; attributes: Attributes }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;

  /** Readings lost because the meter threw or could not keep up. */
  get dropped(): number {
    return this.#dropped;
  }

  /** One more. */
  count(counter: Counter, attributes: Attributes): void {
    const series = this.#seriesOf(counter, attributes);
    if (series.count === 0) this.#counted.push({ counter, series });
    series.count += 1;
    this.#schedule();
  }

  value(histogram: Histogram, value: number, attributes: Attributes): void {
    if (this.#values.length >= MAX_VALUES) {
      this.#dropped += 1;
      return;
    }
    // One object for the same attributes, so that a meter can recognise them.
    const shared = this.#seriesOf(histogram, attributes).attributes ?? attributes;
    this.#values.push({ histogram, value, attributes: shared });
    this.#schedule();
  }

  /** Hands over everything that waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [counted, values] = [this.#counted, this.#values];
    this.#counted = [];
    this.#values = [];
    this.#series.clear();
    for (const { counter, series } of counted)
      this.attempt(() => counter.add(series.count, series.attributes));
    for (const { histogram, value, attributes } of values)
      this.attempt(() => histogram.record(value, attributes));
  }

  /** Does something with the meter, whatever it throws. */
  attempt(use: () => void): void {
    try {
      use();
    } catch {
      this.#dropped += 1;
    }
  }

  /** Found by the values of the attributes one after the other: a call builds no text for it. */
  #seriesOf(instrument: Counter | Histogram, attributes: Attributes): Series {
    let series = seriesIn(this.#series, instrument);
    for (const name in attributes) series = seriesIn(series.below, attributes[name] ?? "");
    series.attributes ??= attributes;
    return series;
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }
}

function seriesIn<Key>(known: Map<Key, Series>, key: Key): Series {
  const found = known.get(key);
  if (found) return found;
  const added: Series = { attributes: undefined, count: 0, below: new Map() };
  known.set(key, added);
  return added;
}
