import type { Meter } from "@opentelemetry/api";

/** What waits for a sink, as it is measured. */
export interface MeasuredBacklog {
  sink: string;
  batches: number;
  oldestAt?: number;
  problem?: string;
}

/**
 * How much waits for each sink, read from the store when somebody asks. A store that does not answer leaves the readings
 * out.
 */
export function watchSinks(meter: Meter, status: () => Promise<readonly MeasuredBacklog[]>): void {
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(name, { unit, description });
  const batches = gauge("events_waiting", "", "Batches of events that wait for their sink");
  const oldest = gauge("events_oldest_waiting_seconds", "s", "How long the oldest of them has waited");
  const up = gauge("events_sink_up", "", "1 while the sink takes what it is sent, otherwise 0");
  meter.addBatchObservableCallback(
    async (reader) => {
      const now = Date.now();
      for (const { sink, batches: count, oldestAt, problem } of await status().catch(() => [])) {
        reader.observe(batches, count, { sink });
        reader.observe(oldest, oldestAt === undefined ? 0 : Math.max(0, now - oldestAt) / 1_000, { sink });
        reader.observe(up, problem === undefined ? 1 : 0, { sink });
      }
    },
    [batches, oldest, up],
  );
}
