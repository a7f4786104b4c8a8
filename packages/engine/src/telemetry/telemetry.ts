import type { Accepted, CallAnswer, LifecycleState } from "@sallyport/protocol";
import type { Meter, Tracer } from "../ports/platform.ts";
import { CallSpan, type TracedCall } from "./call-span.ts";
import { createInstruments, type Load, MetricBuffer, watchLoad } from "./metrics.ts";

export interface TelemetryOptions {
  /** Without one no spans are made, and a call pays nothing for them. */
  tracer?: Tracer | undefined;
  /** Tells this process from others in what is measured of it as a whole. */
  instance?: string | undefined;
}

/**
 * The metrics of R1-8.2, and the spans of L3P2-5. Neither a meter nor a tracer can fail or hold up a call: a call pays
 * for a few additions, and what they throw is forgotten.
 */
export class Telemetry {
  readonly #meter: Meter;
  readonly #options: TelemetryOptions;
  readonly #counters: ReturnType<typeof createInstruments>["counters"];
  readonly #histograms: ReturnType<typeof createInstruments>["histograms"];
  readonly #buffer = new MetricBuffer();
  #stopWatching: (() => void) | undefined;

  constructor(meter: Meter, options: TelemetryOptions = {}) {
    this.#meter = meter;
    this.#options = options;
    const { counters, histograms } = createInstruments(meter);
    this.#counters = counters;
    this.#histograms = histograms;
  }

  /** Readings lost because the meter threw or could not keep up. */
  get dropped(): number {
    return this.#buffer.dropped;
  }

  /** Has the meter look at how busy the engine is, whenever somebody reads it; what waits is handed over then too. */
  watch(load: () => Load): void {
    const { instance } = this.#options;
    const read = () => {
      this.flush();
      return load();
    };
    this.#buffer.attempt(() => {
      this.#stopWatching = watchLoad(this.#meter, read, instance === undefined ? {} : { instance });
    });
  }

  /** The span of a call that begins; undefined where nobody traces. */
  begin(call: TracedCall): CallSpan | undefined {
    const { tracer } = this.#options;
    return tracer && new CallSpan(tracer, call);
  }

  transition(state: LifecycleState, tool_id: string): void {
    this.#buffer.count(this.#counters.transitions, { tool_id, state });
    if (state === "ROLLED_BACK") this.#buffer.count(this.#counters.rollbacks, { tool_id });
  }

  decided(result: "allowed" | "denied" | "error", seconds: number): void {
    this.#buffer.count(this.#counters.checks, { result });
    this.#buffer.value(this.#histograms.checks, seconds, {});
    if (result !== "allowed") this.#buffer.count(this.#counters.denials, {});
  }

  /** A deterministic tool gave another result than before. */
  differed(tool_id: string): void {
    this.#buffer.count(this.#counters.differences, { tool_id });
  }

  /** Bytes that went into a tool and came out of it. */
  io(tool: string, bytes: { in: number; out: number }): void {
    this.#moved(tool, "in", bytes.in);
    this.#moved(tool, "out", bytes.out);
  }

  /** Counts a call with its answer, and ends its span. One that was only accepted is counted when it has run. */
  ended(answer: CallAnswer | Accepted, span?: CallSpan): void {
    span?.end(answer);
    if (!("attempts" in answer)) return;
    const { status, usage } = answer;
    // What a caller asks for may be anything; only tools that exist become labels.
    const isKnown = answer.lifecycle.length > 0;
    const [tool_id, tool_version] = isKnown ? [answer.tool, answer.version] : ["unknown", "unknown"];
    this.#buffer.count(this.#counters.invocations, { tool_id, tool_version, status });
    this.#used(tool_id, usage);
    if (answer.status !== "success") {
      this.#buffer.count(this.#counters.failures, { tool_id, code: answer.error.code });
    }
  }

  /** Hands the readings that wait to the meter; happens by itself, and whenever somebody reads the load. */
  flush(): void {
    this.#buffer.flush();
  }

  /** Hands over the last readings and lets go of the meter. */
  close(): void {
    this.#buffer.attempt(() => this.#stopWatching?.());
    this.#stopWatching = undefined;
    this.flush();
  }

  #used(tool_id: string, usage: CallAnswer["usage"]): void {
    const { duration, cpu, memory } = this.#histograms;
    this.#buffer.value(duration, usage.durationMs / 1_000, { tool_id });
    // Many kernels count a thread's time in ticks: a short call that was measured reads as none at all.
    const wasMeasured = usage.cpuMs > 0 || usage.memoryPeakBytes > 0;
    if (wasMeasured) this.#buffer.value(cpu, usage.cpuMs / 1_000, { tool_id });
    if (usage.memoryPeakBytes > 0) this.#buffer.value(memory, usage.memoryPeakBytes, { tool_id });
    if (usage.networkBytesReceived > 0) this.#moved(tool_id, "network_in", usage.networkBytesReceived);
    if (usage.networkBytesSent > 0) this.#moved(tool_id, "network_out", usage.networkBytesSent);
  }

  #moved(tool_id: string, direction: string, bytes: number): void {
    this.#buffer.value(this.#histograms.io, bytes, { tool_id, direction });
  }
}
