import type { Resource } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { type Collector, collectorOf } from "./collector.ts";
import { countOf, type Environment, type Warn } from "./environment.ts";
import { samplerOf } from "./sampler.ts";
import { SpanSender } from "./senders.ts";

/** Names come from callers; nothing that long helps a reader. */
const MAX_ATTRIBUTE_CHARS = 256;

/** Where spans go; undefined when the environment wants none, so that none are made. */
export function openTraces(
  env: Environment,
  { resource, warn }: { resource: Resource; warn: Warn },
): TracerProvider | undefined {
  const collector = collectorOf("traces", env, warn);
  if (!collector) return undefined;
  return new TracerProvider({
    resource,
    sampler: samplerOf(env, warn),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARS },
    spanProcessors: [batches(collector, env, warn)],
  });
}

/** Sent from time to time, never by a call. What comes while too many wait is dropped. */
function batches(collector: Collector, env: Environment, warn: Warn): BatchSpanProcessor {
  const count = (name: string, otherwise: number) => countOf(env, name, { otherwise, warn });
  const queue = count("OTEL_BSP_MAX_QUEUE_SIZE", 2_048);
  return new BatchSpanProcessor({
    exporter: new SpanSender(collector, warn),
    scheduledDelayMillis: count("OTEL_BSP_SCHEDULE_DELAY", 5_000),
    exportTimeoutMillis: count("OTEL_BSP_EXPORT_TIMEOUT", 30_000),
    maxQueueSize: queue,
    maxExportBatchSize: Math.min(count("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512), queue),
  });
}
