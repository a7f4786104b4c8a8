export { CallSpan, type OpenSpan } from "./call-span.ts";
export { withSandboxSpan } from "./sandbox-span.ts";
export { Telemetry, type TelemetryOptions } from "./telemetry.ts";
export type { Load } from "./watch-load.ts";
