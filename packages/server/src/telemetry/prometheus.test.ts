import { afterEach, describe, expect, it } from "vitest";
import { afterFirstLook } from "./fixtures/first-look.ts";
import { type ObservedEngine, observedEngine } from "./fixtures/observed-engine.ts";
import { createHttpMetrics, type OpenTelemetry, openTelemetry, watchSinks } from "./index.ts";

const EXPECTED = [
  "capability_denials_total",
  "http_request_duration_seconds",
  "http_requests_total",
  "nodejs_eventloop_lag_seconds",
  "nodejs_heap_size_used_bytes",
  "permission_check_duration_seconds",
  "permission_checks_total",
  "process_cpu_seconds_total",
  "process_resident_memory_bytes",
  "process_uptime_seconds",
  "target_info",
  "tool_cpu_seconds",
  "tool_execution_duration_seconds",
  "tool_executions_active",
  "tool_failures_total",
  "tool_invocations_total",
  "tool_io_bytes",
  "tool_lifecycle_transitions_total",
  "tool_memory_peak_bytes",
  "tool_queue_length",
  "tool_rollbacks_total",
];

describe("what Prometheus reads", () => {
  let runtime: ObservedEngine | undefined;
  let telemetry: OpenTelemetry | undefined;

  afterEach(async () => {
    await runtime?.engine.close();
    await telemetry?.close();
  });

  async function afterCalls(): Promise<string> {
    telemetry = openTelemetry({}, { instance: "one", version: "1.2.3" });
    runtime = await observedEngine(telemetry);
    const http = createHttpMetrics(telemetry.meter);
    for (const tool of ["echo", "echo", "works", "breaks", "denied", "nobody-knows-this"])
      await runtime.call(tool);
    http.answered({ method: "POST", route: "/v1/tools/invoke", status: 200, seconds: 0.02 });
    http.answered({ method: "MADEUP", status: 404, seconds: 0.001 });
    runtime.engine.flush();
    return await afterFirstLook(telemetry);
  }

  it("has exactly the expected names after real calls [R1-8.2] [L3P2-5]", async () => {
    const text = await afterCalls();
    const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
    expect(names.sort()).toEqual(EXPECTED);
  });

  it("has the labels of the specification, and only tools that exist [R1-8.2] [L3P2-5]", async () => {
    const text = await afterCalls();
    expect(
      readingOf(text, 'tool_invocations_total{tool_id="echo",tool_version="1.0.0",status="success"}'),
    ).toBe(2);
    expect(readingOf(text, 'tool_failures_total{tool_id="breaks",code="E3907"}')).toBe(1);
    expect(readingOf(text, 'permission_checks_total{result="allowed"}')).toBe(4);
    expect(readingOf(text, 'permission_checks_total{result="denied"}')).toBe(1);
    expect(readingOf(text, 'tool_executions_active{instance="one"}')).toBe(0);
    expect(readingOf(text, 'tool_queue_length{instance="one",kind="queued"}')).toBe(0);
    expect(readingOf(text, 'http_requests_total{method="POST",route="/v1/tools/invoke",status="200"}')).toBe(
      1,
    );
    expect(readingOf(text, 'http_requests_total{method="other",route="unmatched",status="404"}')).toBe(1);
    expect(text).not.toContain("nobody-knows-this");
    expect(text).not.toContain("MADEUP");
  });

  it("has the buckets of the specification [R1-8.2] [L3P2-5]", async () => {
    const text = await afterCalls();
    expect(bucketsOf(text, "tool_execution_duration_seconds")).toEqual([
      ...["0.001", "0.005", "0.01", "0.025", "0.05"],
      "0.1",
      "0.5",
      "1",
      "5",
      "10",
      "30",
      "60",
      "120",
      "300",
      "+Inf",
    ]);
    expect(bucketsOf(text, "permission_check_duration_seconds")).toEqual([
      "0.001",
      "0.005",
      "0.01",
      "0.05",
      "0.1",
      "0.5",
      "1",
      "+Inf",
    ]);
    expect(readingOf(text, 'tool_execution_duration_seconds_count{tool_id="echo"}')).toBe(2);
  });

  it("is the same whatever the environment sends elsewhere", async () => {
    telemetry = openTelemetry({ OTEL_SDK_DISABLED: "true" }, { instance: "one", version: "1.2.3" });
    expect(telemetry.tracer).toBeUndefined();
    expect(await telemetry.render()).toContain("process_uptime_seconds");
  });

  it("has everything else when a gauge never answers, and what waits by the last answer of a store that hangs", async () => {
    telemetry = openTelemetry({}, { instance: "one", version: "1.2.3" });
    const stuck = telemetry.meter.createObservableGauge("stuck");
    stuck.addCallback(() => new Promise(() => undefined));
    let asked = 0;
    const hanging = new Promise<never>(() => undefined);
    watchSinks(telemetry.meter, () => {
      asked += 1;
      return asked === 1 ? Promise.resolve([{ sink: "s", batches: 7 }]) : hanging;
    });
    for (const _ of ["answers", "hangs", "still hangs"]) {
      const text = await telemetry.render();
      expect(text).toContain("process_uptime_seconds");
      expect(readingOf(text, 'events_waiting{sink="s"}')).toBe(7);
      expect(text).toMatch(/^events_waiting_age_seconds \d/m);
    }
    // It is not asked again while it hangs.
    expect(asked).toBe(2);
  });

  it("can be closed again and again, and not be read afterwards", async () => {
    const closed = openTelemetry({}, { instance: "one", version: "1.2.3" });
    await Promise.all([closed.close(), closed.close()]);
    await closed.close();
    await expect(closed.render()).rejects.toThrow();
  });
});

function readingOf(text: string, series: string): number | undefined {
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

function bucketsOf(text: string, name: string): string[] {
  const bounds = text.matchAll(new RegExp(`^${name}_bucket\\{.*le="([^"]+)"\\}`, "gm"));
  return [...new Set([...bounds].map(([, bound]) => bound ?? ""))];
}
