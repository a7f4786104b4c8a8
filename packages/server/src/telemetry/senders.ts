import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import type { Collector } from "./collector.ts";
import type { Warn } from "./environment.ts";
import { Outage } from "./outage.ts";

type SentSpans = Parameters<OTLPTraceExporter["export"]>;
type SentReadings = Parameters<OTLPMetricExporter["export"]>;

/** Sends spans to a collector. One that cannot be reached is said once. */
export class SpanSender extends OTLPTraceExporter {
  readonly #outage: Outage;

  constructor({ url, headers, timeoutMs }: Collector, warn: Warn) {
    super({ url, headers, timeoutMillis: timeoutMs });
    this.#outage = new Outage("traces", warn);
  }

  override export(...[spans, done]: SentSpans): void {
    super.export(spans, (result) => {
      this.#outage.sent(errorOf(result));
      done(result);
    });
  }
}

/** Sends readings to a collector. One that cannot be reached is said once. */
export class ReadingSender extends OTLPMetricExporter {
  readonly #outage: Outage;

  constructor({ url, headers, timeoutMs }: Collector, warn: Warn) {
    super({ url, headers, timeoutMillis: timeoutMs });
    this.#outage = new Outage("metrics", warn);
  }

  override export(...[readings, done]: SentReadings): void {
    super.export(readings, (result) => {
      this.#outage.sent(errorOf(result));
      done(result);
    });
  }
}

const TAKEN = 0;

function errorOf({ code, error }: { code: number; error?: Error }): Error | undefined {
  return code === TAKEN ? undefined : (error ?? new Error(""));
}
