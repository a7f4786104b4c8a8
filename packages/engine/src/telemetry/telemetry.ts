import type { CallAnswer, LifecycleState } from "@sallyport/protocol";
import type { Attributes, Meter } from "../ports/telemetry.ts";

/** How many readings may wait for the meter; beyond that new ones are dropped and counted. */
const BACKLOG = 10_000;

interface Instrument {
  write(value: number, attributes: Attributes): void;
}

interface Reading {
  instrument: Instrument;
  value: number;
  attributes: Attributes;
}

/**
 * The metrics of R1-8.2. Readings are handed to the meter after the current turn of the event loop, and whatever the
 * meter throws is counted and forgotten: telemetry can neither fail nor hold up a call.
 */
export class Telemetry {
  readonly #instruments;
  #backlog: Reading[] = [];
  #scheduled = false;
  #dropped = 0;

  constructor(meter: Meter) {
    this.#instruments = createInstruments(meter);
  }

  /** Readings lost because the meter threw or could not keep up. */
  get dropped(): number {
    return this.#dropped;
  }

  transition(state: LifecycleState, tool: string): void {
    this.#put(this.#instruments.transitions, 1, { state, tool_id: tool });
  }

  decided(result: "allowed" | "denied" | "error", seconds: number): void {
    this.#put(this.#instruments.checks, 1, { result });
    this.#put(this.#instruments.checkDuration, seconds, {});
    if (result !== "allowed") this.#put(this.#instruments.denials, 1, {});
  }

  /** Bytes that went into a tool and came out of it. */
  io(tool_id: string, bytes: { in: number; out: number }): void {
    this.#put(this.#instruments.io, bytes.in, { tool_id, direction: "in" });
    this.#put(this.#instruments.io, bytes.out, { tool_id, direction: "out" });
  }

  ended(answer: CallAnswer): void {
    const { tool: tool_id, version: tool_version, status, usage } = answer;
    this.#put(this.#instruments.invocations, 1, { tool_id, tool_version, status });
    this.#put(this.#instruments.duration, usage.durationMs / 1_000, { tool_id });
    if (usage.cpuMs > 0) this.#put(this.#instruments.cpu, usage.cpuMs / 1_000, { tool_id });
    if (usage.memoryPeakBytes > 0) this.#put(this.#instruments.memory, usage.memoryPeakBytes, { tool_id });
    if (answer.rollback) this.#put(this.#instruments.rollbacks, 1, { tool_id });
    if (answer.status !== "success")
      this.#put(this.#instruments.failures, 1, { tool_id, code: answer.error.code });
  }

  /** Hands over everything that waits; called by itself, and once more when the engine closes. */
  flush(): void {
    this.#scheduled = false;
    const readings = this.#backlog;
    this.#backlog = [];
    for (const { instrument, value, attributes } of readings) {
      try {
        instrument.write(value, attributes);
      } catch {
        this.#dropped += 1;
      }
    }
  }

  #put(instrument: Instrument, value: number, attributes: Attributes): void {
    if (this.#backlog.length >= BACKLOG) {
      this.#dropped += 1;
      return;
    }
    this.#backlog.push({ instrument, value, attributes });
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.flush()).unref();
  }
}

function createInstruments(meter: Meter) {
  const counter = (name: string, description: string): Instrument => {
    const made = meter.createCounter(name, { description });
    return { write: (value, attributes) => made.add(value, attributes) };
  };
  const histogram = (name: string, unit: string, description: string): Instrument => {
    const made = meter.createHistogram(name, { unit, description });
    return { write: (value, attributes) => made.record(value, attributes) };
  };
  return {
    invocations: counter("tool_invocations_total", "Calls, by how they ended"),
    failures: counter("tool_failures_total", "Calls that did not succeed, by code"),
    transitions: counter("tool_lifecycle_transitions_total", "Lifecycle states entered"),
    rollbacks: counter("tool_rollbacks_total", "Executions rolled back"),
    checks: counter("permission_checks_total", "Authorisation decisions"),
    denials: counter("capability_denials_total", "Calls denied by authorisation"),
    checkDuration: histogram("permission_check_duration_seconds", "s", "Time a decision took"),
    duration: histogram("tool_execution_duration_seconds", "s", "Time a call took"),
    cpu: histogram("tool_cpu_seconds", "s", "CPU time a call used"),
    io: histogram("tool_io_bytes", "By", "Bytes that went into a tool and came out of it"),
    memory: histogram("tool_memory_peak_bytes", "By", "Largest memory a call was seen to use"),
  };
}
