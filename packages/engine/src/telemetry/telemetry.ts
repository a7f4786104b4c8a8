import type { CallAnswer, LifecycleState } from "@sallyport/protocol";
import type { Attributes, Meter } from "../ports/telemetry.ts";
import { createInstruments, type Instruments } from "./instruments.ts";

/** How many single values may wait for the meter; beyond that new ones are dropped and counted. */
const BACKLOG = 50_000;
const FLUSH_MS = 250;

interface Reading {
  record(value: number, attributes?: Attributes): void;
}

interface Value {
  instrument: Reading;
  value: number;
  attributes: Attributes;
}

interface Count {
  counter: { add(value: number, attributes?: Attributes): void };
  attributes: Attributes;
  count: number;
}

/**
 * The metrics of R1-8.2. Counts are added up here and values gathered, and both are handed to the meter a few times a
 * second, outside any call; whatever the meter throws is counted and forgotten. So telemetry can neither fail nor hold
 * up a call, and a call pays for a few additions.
 */
export class Telemetry {
  readonly #instruments: Instruments;
  readonly #counts = new Map<string, Count>();
  readonly #attributes = new Map<string, Attributes>();
  #values: Value[] = [];
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;

  constructor(meter: Meter) {
    this.#instruments = createInstruments(meter);
  }

  /** Readings lost because the meter threw or could not keep up. */
  get dropped(): number {
    return this.#dropped;
  }

  transition(state: LifecycleState, tool_id: string): void {
    this.#count("transitions", `${state} ${tool_id}`, { state, tool_id });
  }

  decided(result: "allowed" | "denied" | "error", seconds: number): void {
    this.#count("checks", result, { result });
    this.#value("checkDuration", seconds, NO_ATTRIBUTES);
    if (result !== "allowed") this.#count("denials", "", NO_ATTRIBUTES);
  }

  /** Bytes that went into a tool and came out of it. */
  io(tool: string, bytes: { in: number; out: number }): void {
    this.#value("io", bytes.in, this.#shared(`in ${tool}`, { tool_id: tool, direction: "in" }));
    this.#value("io", bytes.out, this.#shared(`out ${tool}`, { tool_id: tool, direction: "out" }));
  }

  ended(answer: CallAnswer): void {
    const { status, usage } = answer;
    // What a caller asks for may be anything; only tools that exist become labels.
    const isKnown = answer.lifecycle.length > 0;
    const [tool_id, tool_version] = isKnown ? [answer.tool, answer.version] : ["unknown", "unknown"];
    const tool = this.#shared(tool_id, { tool_id });
    this.#count("invocations", `${status} ${tool_version} ${tool_id}`, { tool_id, tool_version, status });
    this.#value("duration", usage.durationMs / 1_000, tool);
    if (usage.cpuMs > 0) this.#value("cpu", usage.cpuMs / 1_000, tool);
    if (usage.memoryPeakBytes > 0) this.#value("memory", usage.memoryPeakBytes, tool);
    if (answer.rollback) this.#count("rollbacks", tool_id, tool);
    if (answer.status !== "success") {
      const { code } = answer.error;
      this.#count("failures", `${code} ${tool_id}`, { tool_id, code });
    }
  }

  /** Hands over everything that waits; called by itself, and once more when the engine closes. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const values = this.#values;
    const counts = [...this.#counts.values()];
    this.#values = [];
    this.#counts.clear();
    this.#attributes.clear();
    for (const { counter, count, attributes } of counts) this.#hand(() => counter.add(count, attributes));
    for (const { instrument, value, attributes } of values)
      this.#hand(() => instrument.record(value, attributes));
  }

  #hand(give: () => void): void {
    try {
      give();
    } catch {
      this.#dropped += 1;
    }
  }

  #count(name: keyof Instruments["counters"], series: string, attributes: Attributes): void {
    const key = `${name} ${series}`;
    const known = this.#counts.get(key);
    if (known) {
      known.count += 1;
      return;
    }
    this.#counts.set(key, { counter: this.#instruments.counters[name], attributes, count: 1 });
    this.#schedule();
  }

  #value(name: keyof Instruments["histograms"], value: number, attributes: Attributes): void {
    if (this.#values.length >= BACKLOG) {
      this.#dropped += 1;
      return;
    }
    this.#values.push({ instrument: this.#instruments.histograms[name], value, attributes });
    this.#schedule();
  }

  /** One object for the same attributes, so that a meter can recognise them. */
  #shared(key: string, attributes: Attributes): Attributes {
    const known = this.#attributes.get(key);
    if (known) return known;
    this.#attributes.set(key, attributes);
    return attributes;
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS).unref();
  }
}

const NO_ATTRIBUTES: Attributes = {};
