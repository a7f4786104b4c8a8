import { setTimeout as sleep } from "node:timers/promises";
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

/** Months of the audit record on their way to the archive, by the last answer of the store. */
export function watchArchive(meter: Meter, state: () => Promise<MeasuredArchive>): void {
  const gauge = (name: string, description: string) => meter.createObservableGauge(name, { description });
  const waiting = gauge(
    "audit_months_waiting",
    "Months that are old enough for the archive and in the store",
  );
  const failing = gauge("audit_month_failing", "1 for a month that could not be moved to the archive");
  const last = gauge("audit_last_month_archived", "The last month in the archive, such as 202608");
  const answer = lastAnswerOf(state);
  meter.addBatchObservableCallback(
    async (reader) => {
      const found = (await answer())?.value;
      if (!found) return;
      reader.observe(waiting, found.waiting.length);
      for (const { month, problem } of found.waiting)
        if (problem !== undefined) reader.observe(failing, 1, { month });
      if (found.last) reader.observe(last, Number(found.last.month.replace("-", "")));
    },
    [waiting, failing, last],
  );
}

/** How long somebody who reads the metrics waits for the store. */
const ASK_MS = 1_000;

/**
 * What the store says when somebody asks, or what it said last: one that is slow or away costs a reader a second and no
 * other metric. It is asked once at a time. `at` is when it answered.
 */
export function lastAnswerOf<T>(
  ask: () => Promise<T>,
  withinMs = ASK_MS,
): () => Promise<{ value: T; at: number } | undefined> {
  let last: { value: T; at: number } | undefined;
  let asking: Promise<void> | undefined;
  const once = async () => {
    try {
      last = { value: await ask(), at: performance.now() };
    } catch {
      // The age of the last answer says so.
    }
    asking = undefined;
  };
  return async () => {
    asking ??= once();
    const waiting = new AbortController();
    const late = sleep(withinMs, undefined, { signal: waiting.signal, ref: false }).catch(() => undefined);
    await Promise.race([asking, late]);
    waiting.abort();
    return last;
  };
}

/** How much waits for each sink, by the last answer of the store, whose age is measured as well. */
export function watchSinks(meter: Meter, status: () => Promise<readonly MeasuredBacklog[]>): void {
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(name, { unit, description });
  const batches = gauge("events_waiting", "", "Batches of events that wait for their sink");
  const oldest = gauge("events_oldest_waiting_seconds", "s", "How long the oldest of them has waited");
  const up = gauge("events_sink_up", "", "1 while the sink takes what it is sent, otherwise 0");
  const age = gauge("events_waiting_age_seconds", "s", "How long ago the store said what waits");
  const answer = lastAnswerOf(status);
  meter.addBatchObservableCallback(
    async (reader) => {
      const last = await answer();
      if (!last) return;
      const now = Date.now();
      reader.observe(age, (performance.now() - last.at) / 1_000);
      for (const { sink, batches: count, oldestAt, problem } of last.value) {
        reader.observe(batches, count, { sink });
        reader.observe(oldest, oldestAt === undefined ? 0 : Math.max(0, now - oldestAt) / 1_000, { sink });
        reader.observe(up, problem === undefined ? 1 : 0, { sink });
      }
    },
    [batches, oldest, up, age],
  );
}
