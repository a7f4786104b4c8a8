import type { Meter } from "@opentelemetry/api";
import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { defaultResource, type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, MetricReader, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { timerMs } from "@sallyport/engine/host";
import type { Tracer } from "@sallyport/engine/ports";
import { type Collector, collectorOf } from "./collector.ts";
import { countOf, type Environment, pairsOf, textOf, type Warn } from "./environment.ts";
import { ReadingSender } from "./senders.ts";
import { SpanTracer } from "./span-tracer.ts";
import { openTraces } from "./traces.ts";

const LAG_BUCKETS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
/** A stall longer than this is always seen. */
const LAG_EVERY_MS = 100;

/** Measures this process: CPU, memory, uptime, and how late its event loop is. Returns how to stop. */
function watchProcess(meter: Meter): () => void {
  meter
    .createObservableCounter("process_cpu_seconds_total", {
      description: "CPU time of this process",
      unit: "s",
    })
    .addCallback((reading) => reading.observe(cpuSeconds()));
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(name, { unit, description });
  gauge("process_resident_memory_bytes", "By", "Memory this process holds").addCallback((reading) =>
    reading.observe(process.memoryUsage.rss()),
  );
  gauge("nodejs_heap_size_used_bytes", "By", "JavaScript heap in use").addCallback((reading) =>
    reading.observe(process.memoryUsage().heapUsed),
  );
  gauge("process_uptime_seconds", "s", "Time since this process began").addCallback((reading) =>
    reading.observe(process.uptime()),
  );
  return watchLag(meter);
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000_000;
}

/**
 * How much later than due a timer fires. A histogram, so that every reader of the metrics sees all of it, at whatever
 * interval it reads.
 */
function watchLag(meter: Meter): () => void {
  const lag = meter.createHistogram("nodejs_eventloop_lag_seconds", {
    description: "How late timers fire because the event loop is busy",
    unit: "s",
    advice: { explicitBucketBoundaries: LAG_BUCKETS },
  });
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    lag.record(Math.max(0, now - last - LAG_EVERY_MS) / 1_000);
    last = now;
  }, LAG_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** Reads when it is asked to, and never by itself. */
class OnDemandReader extends MetricReader {
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }

  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
}

/** A gauge that takes longer is left out of a page: it costs no other metric. */
const GAUGE_MS = 2_000;

interface Metrics {
  readonly provider: MeterProvider;
  /** Everything measured, as Prometheus reads it. Rejects once the provider is shut down. */
  render(): Promise<string>;
}

/** Metrics to be read, and sent where the environment wants that. */
function openMetrics(env: Environment, { resource, warn }: { resource: Resource; warn: Warn }): Metrics {
  const reader = new OnDemandReader();
  const collector = collectorOf("metrics", env, warn);
  const readers = collector ? [reader, periodic(collector, env, warn)] : [reader];
  const provider = new MeterProvider({ resource, readers });
  // The scope is always the same and would only lengthen every line.
  const serializer = new PrometheusSerializer(undefined, false, undefined, false, true);
  const render = async () =>
    serializer.serialize((await reader.collect({ timeoutMillis: GAUGE_MS })).resourceMetrics);
  return { provider, render };
}

function periodic(collector: Collector, env: Environment, warn: Warn): PeriodicExportingMetricReader {
  const interval = countOf(env, "OTEL_METRIC_EXPORT_INTERVAL", { otherwise: 60_000, warn });
  const timeout = countOf(env, "OTEL_METRIC_EXPORT_TIMEOUT", { otherwise: 30_000, warn });
  return new PeriodicExportingMetricReader({
    exporter: new ReadingSender(collector, warn),
    exportIntervalMillis: interval,
    exportTimeoutMillis: Math.min(timeout, interval),
  });
}

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
    timer = setTimeout(resolve, timerMs(ms));
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}

interface Identity {
  /** Tells this process from others of the same service. */
  instance: string;
  version: string;
}

/** Who sends: what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say goes before what this server says of itself. */
function resourceOf(env: Environment, { instance, version, warn }: Identity & { warn: Warn }): Resource {
  const serviceName = textOf(env, "OTEL_SERVICE_NAME");
  return defaultResource().merge(
    resourceFromAttributes({
      "service.name": "sallyport",
      "service.version": version,
      "service.instance.id": instance,
      ...pairsOf(env, "OTEL_RESOURCE_ATTRIBUTES", warn),
      ...(serviceName !== undefined && { "service.name": serviceName }),
    }),
  );
}
