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

/** What is measured, under the names that dashboards know (L3P2-5, R1-8.2): counters, and histograms with their buckets. */
const METRICS = {
  invocations: ["tool_invocations_total", "Calls, by how they ended"],
  failures: ["tool_failures_total", "Calls that did not succeed, by code"],
  transitions: ["tool_lifecycle_transitions_total", "Lifecycle states entered"],
  rollbacks: ["tool_rollbacks_total", "Executions rolled back"],
  differences: [
    "tool_output_differences_total",
    "Results of deterministic tools that differ from an earlier one for the same input and state",
  ],
  checks: ["permission_checks_total", "Authorisation decisions"],
  denials: ["capability_denials_total", "Calls denied by authorisation"],
  checkTime: ["permission_check_duration_seconds", "Time a decision took", "s", BUCKETS.permission],
  duration: ["tool_execution_duration_seconds", "Time a call took", "s", BUCKETS.execution],
  cpu: ["tool_cpu_seconds", "CPU time a call used", "s", BUCKETS.cpu],
  io: ["tool_io_bytes", "Bytes that went into a tool and came out of it", "By", BUCKETS.io],
  memory: ["tool_memory_peak_bytes", "Largest memory a call was seen to use", "By", BUCKETS.memory],
} as const satisfies Record<string, [name: string, description: string, unit?: string, bounds?: number[]]>;
type Metric = keyof typeof METRICS;

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
  const watch = (name: string, description: string, read: GaugeReader) => {
    const gauge = meter.createObservableGauge?.(name, { description });
    gauge?.addCallback(read);
    return () => gauge?.removeCallback(read);
  };
  const stops = [
    watch("tool_executions_active", "Calls that run now", (result) =>
      result.observe(load().running, attributes),
    ),
    watch("tool_queue_length", "Calls that wait to run", (result) => {
      const { waiting, queued } = load();
      result.observe(waiting, { ...attributes, kind: "waiting" });
      result.observe(queued, { ...attributes, kind: "queued" });
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** How many values of histograms may wait for the meter; beyond that new ones are dropped and counted. */
const MAX_VALUES = 50_000;
const FLUSH_MS = 250;

/** A metric with one set of attributes, and its readings that wait. Below it are those with more attributes. */
interface Series {
  attributes: Attributes | undefined;
  readings: number[];
  readonly below: Map<Attributes[string], Series>;
}

/**
 * Readings on their way to the meter. Counts are added up and values gathered, and both are handed over a few times a
 * second, outside any call; whatever the meter throws is counted and forgotten.
 */
export class MetricBuffer {
  readonly #take: ReadonlyMap<string, Take>;
  readonly #series = new Map<string, Series>();
  readonly #waiting = new Map<Series, Metric>();
  #values = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Readings lost because the meter threw or could not keep up. */
  dropped = 0;

  constructor(meter: Meter) {
    this.#take = new Map(Object.entries(METRICS).map(([metric, row]) => [metric, instrumentOf(meter, row)]));
  }

  /** One more. */
  count(metric: Metric, attributes: Attributes): void {
    const { readings } = this.#seriesOf(metric, attributes);
    readings[0] = (readings[0] ?? 0) + 1;
  }

  value(metric: Metric, value: number, attributes: Attributes): void {
    if (this.#values < MAX_VALUES) {
      this.#seriesOf(metric, attributes).readings.push(value);
      this.#values += 1;
    } else this.dropped += 1;
  }

  /** Hands over everything that waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#series.clear();
    this.#values = 0;
    for (const [{ readings, attributes }, metric] of waiting)
      for (const value of readings) this.attempt(() => this.#take.get(metric)?.(value, attributes));
  }

  /** Does something with the meter, whatever it throws. */
  attempt(use: () => void): void {
    try {
      use();
    } catch {
      this.dropped += 1;
    }
  }

  /** Found by the values of the attributes one after the other: a call builds no text for it. */
  #seriesOf(metric: Metric, attributes: Attributes): Series {
    let series = seriesIn(this.#series, metric);
    for (const name in attributes) series = seriesIn(series.below, attributes[name] ?? "");
    // One object for the same attributes, so that a meter can recognise them.
    series.attributes ??= attributes;
    if (series.readings.length === 0) this.#waiting.set(series, metric);
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
    return series;
  }
}

type Take = (value: number, attributes: Attributes | undefined) => void;

function instrumentOf(meter: Meter, row: (typeof METRICS)[Metric]): Take {
  const [name, description, unit, bounds] = row;
  if (!unit) {
    const counter = meter.createCounter(name, { description });
    return (value, attributes) => counter.add(value, attributes);
  }
  const advice = { explicitBucketBoundaries: [...bounds] };
  const histogram = meter.createHistogram(name, { description, unit, advice });
  return (value, attributes) => histogram.record(value, attributes);
}

function seriesIn<Key>(known: Map<Key, Series>, key: Key): Series {
  const found = known.get(key);
  if (found) return found;
  const added: Series = { attributes: undefined, readings: [], below: new Map() };
  known.set(key, added);
  return added;
}
