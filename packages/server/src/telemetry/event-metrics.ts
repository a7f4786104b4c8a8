import type { Meter } from "@opentelemetry/api";
import { WORKER_HEALTH } from "@sallyport/protocol";

/** What waits for a sink, as it is measured. */
export interface MeasuredBacklog {
  sink: string;
  batches: number;
  oldestAt?: number;
  problem?: string;
}

/** How the workers of a gateway stand: read from what probes and calls have shown, when somebody asks. */
export function watchWorkers(
  meter: Meter,
  workers: () => readonly { baseUrl: string; state: string }[],
): void {
  const description = "1 while the worker is in this state, otherwise 0";
  const gauge = meter.createObservableGauge("worker_state", { description });
  gauge.addCallback((reader) => {
    for (const { baseUrl: worker, state } of workers())
      for (const one of WORKER_HEALTH) reader.observe(one === state ? 1 : 0, { worker, state: one });
  });
}

/** What waits for the archive, as it is measured. */
export interface MeasuredArchive {
  waiting: readonly { month: string; problem?: string }[];
  last?: { month: string };
}

/** Months of the audit record on their way to the archive. A store that does not answer leaves the readings out. */
export function watchArchive(meter: Meter, state: () => Promise<MeasuredArchive>): void {
  const gauge = (name: string, description: string) => meter.createObservableGauge(name, { description });
  const waiting = gauge(
    "audit_months_waiting",
    "Months that are old enough for the archive and in the store",
  );
  const failing = gauge("audit_month_failing", "1 for a month that could not be moved to the archive");
  const last = gauge("audit_last_month_archived", "The last month in the archive, such as 202608");
  meter.addBatchObservableCallback(
    async (reader) => {
      const found = await state().catch(() => undefined);
      if (!found) return;
      reader.observe(waiting, found.waiting.length);
      for (const { month, problem } of found.waiting)
        if (problem !== undefined) reader.observe(failing, 1, { month });
      if (found.last) reader.observe(last, Number(found.last.month.replace("-", "")));
    },
    [waiting, failing, last],
  );
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
