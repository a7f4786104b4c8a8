export { CallSpan, withSandboxSpan } from "./call-span.ts";
export { Telemetry } from "./telemetry.ts";
