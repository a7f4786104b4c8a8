import type { Accepted, CallAnswer, LifecycleState } from "@sallyport/protocol";
import type { Attributes, Meter, Tracer } from "../ports/telemetry.ts";
import { Backlog } from "./backlog.ts";
import { CallSpan, type TracedCall } from "./call-span.ts";
import { createInstruments, type Instruments } from "./instruments.ts";
import { type Load, watchLoad } from "./watch-load.ts";

export interface TelemetryOptions {
  /** Without one no spans are made, and a call pays nothing for them. */
  tracer?: Tracer | undefined;
  /** Tells this process from others in what is measured of it as a whole. */
  instance?: string | undefined;
}

const NO_ATTRIBUTES: Attributes = {};

/**
 * The metrics of R1-8.2, and the spans of L3P2-5. Neither a meter nor a tracer can fail or hold up a call: a call pays
 * for a few additions, and what they throw is forgotten.
 */
export class Telemetry {
  readonly #meter: Meter;
  readonly #options: TelemetryOptions;
  readonly #instruments: Instruments;
  readonly #backlog = new Backlog();
  #stopWatching: (() => void) | undefined;

  constructor(meter: Meter, options: TelemetryOptions = {}) {
    this.#meter = meter;
    this.#options = options;
    this.#instruments = createInstruments(meter);
  }

  /** Readings lost because the meter threw or could not keep up. */
  get dropped(): number {
    return this.#backlog.dropped;
  }

  /** Has the meter look at how busy the engine is, whenever somebody reads it; what waits is handed over then too. */
  watch(load: () => Load): void {
    const { instance } = this.#options;
    const read = () => {
      this.flush();
      return load();
    };
    this.#backlog.hand(() => {
      this.#stopWatching = watchLoad(this.#meter, read, instance === undefined ? {} : { instance });
    });
  }

  /** The span of a call that begins; undefined where nobody traces. */
  begin(call: TracedCall): CallSpan | undefined {
    const { tracer } = this.#options;
    return tracer && new CallSpan(tracer, call);
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
    const tool = this.#backlog.shared(tool_id, { tool_id });
    this.#count("invocations", `${status} ${tool_version} ${tool_id}`, { tool_id, tool_version, status });
    this.#used(tool_id, usage, tool);
    if (answer.rollback) this.#count("rollbacks", tool_id, tool);
    if (answer.status !== "success") {
      const { code } = answer.error;
      this.#count("failures", `${code} ${tool_id}`, { tool_id, code });
    }
  }

  /** Hands the readings that wait to the meter; happens by itself, and whenever somebody reads the load. */
  flush(): void {
    this.#backlog.flush();
  }

  /** Hands over the last readings and lets go of the meter. */
  close(): void {
    this.#backlog.hand(() => this.#stopWatching?.());
    this.#stopWatching = undefined;
    this.flush();
  }

  #used(tool_id: string, usage: CallAnswer["usage"], tool: Attributes): void {
    this.#value("duration", usage.durationMs / 1_000, tool);
    // Many kernels count a thread's time in ticks: a short call that was measured reads as none at all.
    const wasMeasured = usage.cpuMs > 0 || usage.memoryPeakBytes > 0;
    if (wasMeasured) this.#value("cpu", usage.cpuMs / 1_000, tool);
    if (usage.memoryPeakBytes > 0) this.#value("memory", usage.memoryPeakBytes, tool);
    if (usage.networkBytesReceived > 0) this.#moved(tool_id, "network_in", usage.networkBytesReceived);
    if (usage.networkBytesSent > 0) this.#moved(tool_id, "network_out", usage.networkBytesSent);
  }

  #moved(tool_id: string, direction: string, bytes: number): void {
    this.#value("io", bytes, this.#backlog.shared(`${direction} ${tool_id}`, { tool_id, direction }));
  }

  #count(name: keyof Instruments["counters"], series: string, attributes: Attributes): void {
    this.#backlog.count(this.#instruments.counters[name], `${name} ${series}`, attributes);
  }

  #value(name: keyof Instruments["histograms"], value: number, attributes: Attributes): void {
    this.#backlog.value(this.#instruments.histograms[name], value, attributes);
  }
}
