import { describe, expect, it } from "vitest";
import { openTelemetry } from "./index.ts";

const IDENTITY = { instance: "one", version: "1.2.3" };

describe("opening telemetry", () => {
  it("says once what is wrong with a variable that several signals read, and goes on", async () => {
    const warnings: string[] = [];
    const telemetry = openTelemetry(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
        OTEL_EXPORTER_OTLP_HEADERS: "=",
        OTEL_RESOURCE_ATTRIBUTES: "%%%=1",
        OTEL_BSP_MAX_QUEUE_SIZE: "-1",
      },
      { ...IDENTITY, warn: (message) => void warnings.push(message), closeMs: 50 },
    );
    expect(warnings.map((warning) => warning.split(" ")[0])).toEqual([
      "OTEL_RESOURCE_ATTRIBUTES",
      "OTEL_EXPORTER_OTLP_HEADERS",
      "OTEL_BSP_MAX_QUEUE_SIZE",
    ]);
    expect(telemetry.tracer).toBeDefined();
    await telemetry.close();
  });

  it("names the server in what Prometheus reads", async () => {
    const telemetry = openTelemetry({ OTEL_SERVICE_NAME: "doorkeeper" }, IDENTITY);
    expect(await telemetry.render()).toMatch(
      /^target_info\{service_name="doorkeeper".*service_instance_id="one"/m,
    );
    await telemetry.close();
  });
});
