import type { Accepted, CallAnswer, LifecycleState } from "@sallyport/protocol";
import type { Meter, Tracer } from "../ports/platform.ts";
import { CallSpan, type TracedCall } from "./call-span.ts";
import { type Load, MetricBuffer, watchLoad } from "./metrics.ts";

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
  readonly #buffer: MetricBuffer;
  #stopWatching: (() => void) | undefined;

  constructor(meter: Meter, options: TelemetryOptions = {}) {
    this.#meter = meter;
    this.#options = options;
    this.#buffer = new MetricBuffer(meter);
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
    this.#buffer.count("transitions", { tool_id, state });
    if (state === "ROLLED_BACK") this.#buffer.count("rollbacks", { tool_id });
  }

  decided(result: "allowed" | "denied" | "error", seconds: number): void {
    this.#buffer.count("checks", { result });
    this.#buffer.value("checkTime", seconds, {});
    if (result !== "allowed") this.#buffer.count("denials", {});
  }

  /** A deterministic tool gave another result than before. */
  differed(tool_id: string): void {
    this.#buffer.count("differences", { tool_id });
  }

  /** Bytes that went into a tool and came out of it. */
  io(tool_id: string, bytes: { in: number; out: number }): void {
    this.#buffer.value("io", bytes.in, { tool_id, direction: "in" });
    this.#buffer.value("io", bytes.out, { tool_id, direction: "out" });
  }

  /** Counts a call with its answer, and ends its span. One that was only accepted is counted when it has run. */
  ended(answer: CallAnswer | Accepted, span?: CallSpan): void {
    span?.end(answer);
    if (!("attempts" in answer)) return;
    const { status, usage } = answer;
    // What a caller asks for may be anything; only tools that exist become labels.
    const isKnown = answer.lifecycle.length > 0;
    const [tool_id, tool_version] = isKnown ? [answer.tool, answer.version] : ["unknown", "unknown"];
    this.#buffer.count("invocations", { tool_id, tool_version, status });
    this.#used(tool_id, usage);
    if (answer.status !== "success") this.#buffer.count("failures", { tool_id, code: answer.error.code });
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
    const { durationMs, cpuMs, memoryPeakBytes, networkBytesReceived, networkBytesSent } = usage;
    this.#buffer.value("duration", durationMs / 1_000, { tool_id });
    // Many kernels count a thread's time in ticks: a short call that was measured reads as none at all.
    if (cpuMs > 0 || memoryPeakBytes > 0) this.#buffer.value("cpu", cpuMs / 1_000, { tool_id });
    if (memoryPeakBytes > 0) this.#buffer.value("memory", memoryPeakBytes, { tool_id });
    if (networkBytesReceived > 0)
      this.#buffer.value("io", networkBytesReceived, { tool_id, direction: "network_in" });
    if (networkBytesSent > 0)
      this.#buffer.value("io", networkBytesSent, { tool_id, direction: "network_out" });
  }
}
