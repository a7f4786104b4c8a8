export type { Environment, Warn } from "./environment.ts";
export { type MeasuredBacklog, watchArchive, watchSinks, watchWorkers } from "./event-metrics.ts";
export { type Answered, createHttpMetrics, type HttpMetrics } from "./http-metrics.ts";
export { type OpenTelemetry, openTelemetry, type TelemetryOptions } from "./open-telemetry.ts";
