import type { Meter } from "../ports/telemetry.ts";

export type Instruments = ReturnType<typeof createInstruments>;

/** What is measured, under the names that dashboards know. */
export function createInstruments(meter: Meter) {
  const counter = (name: string, description: string) => meter.createCounter(name, { description });
  const histogram = (name: string, unit: string, description: string) =>
    meter.createHistogram(name, { unit, description });
  return {
    counters: {
      invocations: counter("tool_invocations_total", "Calls, by how they ended"),
      failures: counter("tool_failures_total", "Calls that did not succeed, by code"),
      transitions: counter("tool_lifecycle_transitions_total", "Lifecycle states entered"),
      rollbacks: counter("tool_rollbacks_total", "Executions rolled back"),
      checks: counter("permission_checks_total", "Authorisation decisions"),
      denials: counter("capability_denials_total", "Calls denied by authorisation"),
    },
    histograms: {
      checkDuration: histogram("permission_check_duration_seconds", "s", "Time a decision took"),
      duration: histogram("tool_execution_duration_seconds", "s", "Time a call took"),
      cpu: histogram("tool_cpu_seconds", "s", "CPU time a call used"),
      io: histogram("tool_io_bytes", "By", "Bytes that went into a tool and came out of it"),
      memory: histogram("tool_memory_peak_bytes", "By", "Largest memory a call was seen to use"),
    },
  };
}
