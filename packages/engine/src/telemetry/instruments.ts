import type { Meter, ObservableGauge } from "../ports/telemetry.ts";
import { BUCKETS } from "./buckets.ts";

export type Instruments = ReturnType<typeof createInstruments>;

/** What is measured, under the names that dashboards know (L3P2-5, R1-8.2). */
export function createInstruments(meter: Meter) {
  const counter = (name: string, description: string) => meter.createCounter(name, { description });
  const histogram = (name: string, description: string, scale: { unit: string; bounds: number[] }) =>
    meter.createHistogram(name, {
      description,
      unit: scale.unit,
      advice: { explicitBucketBoundaries: [...scale.bounds] },
    });
  const seconds = (bounds: number[]) => ({ unit: "s", bounds });
  const bytes = (bounds: number[]) => ({ unit: "By", bounds });
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
      checkDuration: histogram(
        "permission_check_duration_seconds",
        "Time a decision took",
        seconds(BUCKETS.permission),
      ),
      duration: histogram("tool_execution_duration_seconds", "Time a call took", seconds(BUCKETS.execution)),
      cpu: histogram("tool_cpu_seconds", "CPU time a call used", seconds(BUCKETS.cpu)),
      io: histogram("tool_io_bytes", "Bytes that went into a tool and came out of it", bytes(BUCKETS.io)),
      memory: histogram(
        "tool_memory_peak_bytes",
        "Largest memory a call was seen to use",
        bytes(BUCKETS.memory),
      ),
    },
  };
}

export interface Gauges {
  active: ObservableGauge | undefined;
  queue: ObservableGauge | undefined;
}

/** What has a value at any moment; nothing where the meter has no gauges. */
export function createGauges(meter: Meter): Gauges {
  const gauge = (name: string, description: string) => meter.createObservableGauge?.(name, { description });
  return {
    active: gauge("tool_executions_active", "Calls that run now"),
    queue: gauge("tool_queue_length", "Calls that wait to run"),
  };
}
