import { PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import type { Resource } from "@opentelemetry/resources";
import { MeterProvider, MetricReader, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { type Collector, collectorOf } from "./collector.ts";
import { countOf, type Environment, type Warn } from "./environment.ts";
import { ReadingSender } from "./senders.ts";

/** Reads when it is asked to, and never by itself. */
class OnDemandReader extends MetricReader {
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }

  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
}

export interface Metrics {
  readonly provider: MeterProvider;
  /** Everything measured, as Prometheus reads it. Rejects once the provider is shut down. */
  render(): Promise<string>;
}

/** Metrics to be read, and sent where the environment wants that. */
export function openMetrics(
  env: Environment,
  { resource, warn }: { resource: Resource; warn: Warn },
): Metrics {
  const reader = new OnDemandReader();
  const collector = collectorOf("metrics", env, warn);
  const readers = collector ? [reader, periodic(collector, env, warn)] : [reader];
  const provider = new MeterProvider({ resource, readers });
  // The scope is always the same and would only lengthen every line.
  const serializer = new PrometheusSerializer(undefined, false, undefined, false, true);
  const render = async () => serializer.serialize((await reader.collect()).resourceMetrics);
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
