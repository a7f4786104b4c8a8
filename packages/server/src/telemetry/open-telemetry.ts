import type { Meter } from "@opentelemetry/api";
import type { Tracer } from "@sallyport/engine";
import type { Environment, Warn } from "./environment.ts";
import { openMetrics } from "./metrics.ts";
import { watchProcess } from "./process-metrics.ts";
import { type Identity, resourceOf } from "./resource.ts";
import { SpanTracer } from "./span-tracer.ts";
import { openTraces } from "./traces.ts";

/** How long closing waits for a collector to take what is left. */
const CLOSE_MS = 3_000;
const SCOPE = "sallyport";

export interface TelemetryOptions extends Identity {
  /** Told what is wrong with the environment, and once when a collector cannot be reached. */
  warn?: Warn;
  /** The most time closing takes. */
  closeMs?: number;
}

/** What an engine and a door measure and trace with. */
export interface OpenTelemetry {
  readonly meter: Meter;
  /** Undefined when the environment wants no traces. */
  readonly tracer: Tracer | undefined;
  /** Everything measured so far, as Prometheus reads it. Rejects once closed. */
  render(): Promise<string>;
  /** Sends what is left, within a bounded time, and stops measuring. Never rejects; safe to repeat. */
  close(): Promise<void>;
}

/**
 * Opens OpenTelemetry as the standard variables in `env` say. Metrics can always be read; spans and readings are sent
 * only where the environment names a collector. A collector that is slow, wrong or away costs spans and readings, never
 * a call.
 */
export function openTelemetry(
  env: Environment,
  { instance, version, warn = () => undefined, closeMs = CLOSE_MS }: TelemetryOptions,
): OpenTelemetry {
  const opening = sayingOnce(warn);
  const resource = resourceOf(env, { instance, version, warn: opening.warn });
  const { provider, render } = openMetrics(env, { resource, warn: opening.warn });
  const traces = openTraces(env, { resource, warn: opening.warn });
  opening.done();
  const meter = provider.getMeter(SCOPE, version);
  const stopWatching = watchProcess(meter);
  let closing: Promise<void> | undefined;
  return {
    meter,
    tracer: traces && new SpanTracer(traces.getTracer(SCOPE, version)),
    render,
    close() {
      closing ??= within(Promise.allSettled([traces?.shutdown(), provider.shutdown()]), closeMs);
      stopWatching();
      return closing;
    },
  };
}

/** Variables for all signals are read for each of them: until it is done, what is wrong with one is said once. */
function sayingOnce(warn: Warn): { warn: Warn; done(): void } {
  const said = new Set<string>();
  let isDone = false;
  return {
    warn: (message) => {
      if (said.has(message)) return;
      if (!isDone) said.add(message);
      warn(message);
    },
    done: () => {
      isDone = true;
      said.clear();
    },
  };
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}
