export { CallSpan, type OpenSpan, withSandboxSpan } from "./call-span.ts";
export type { Load } from "./metrics.ts";
export { Telemetry, type TelemetryOptions } from "./telemetry.ts";
