import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { describe, expect, it } from "vitest";
import { MemoryMeter } from "../memory/meter.ts";
import { fixtureEngine } from "../testing/fixture-engine.ts";
import { BUCKETS } from "./metrics.ts";
import { Telemetry } from "./telemetry.ts";

const tools = [
  { id: "ok", run: () => 1 },
  {
    id: "no",
    run: () => {
      throw new Error("no");
    },
  },
];

describe("telemetry", () => {
  it("counts executions, failures, rollbacks and transitions, and times them [R1-8.2] [R1-8.3]", async () => {
    const { call, engine, meter } = await fixtureEngine({}, tools);
    for (let index = 0; index < 4; index += 1) await call("ok", {});
    await call("no", {});
    await engine.close();
    expect(meter.total("tool_invocations_total")).toBe(5);
    expect(meter.total("tool_invocations_total", { status: "success" })).toBe(4);
    expect(meter.total("tool_failures_total", { code: "E3907" })).toBe(1);
    expect(meter.total("tool_rollbacks_total")).toBe(1);
    expect(meter.total("tool_lifecycle_transitions_total", { state: "EXECUTING" })).toBe(5);
    expect(meter.total("permission_checks_total", { result: "allowed" })).toBe(5);
    expect(meter.summary("tool_io_bytes", { tool_id: "ok", direction: "out" })).toMatchObject({
      count: 4,
      sum: 4,
    });
    const { count, p50, p95, p99 } = meter.summary("tool_execution_duration_seconds", { tool_id: "ok" });
    expect(count).toBe(4);
    expect(p50 <= p95 && p95 <= p99).toBe(true);
  });

  it("counts a rollback for each attempt that was undone, and bytes, not characters [R1-8.2]", async () => {
    let left = 2;
    const run = () => (left-- > 0 ? new Promise(() => undefined) : "\u{1f600}");
    const conduct = { idempotent: true, limits: { timeoutMs: 20, memoryBytes: 1e9 } };
    const { call, engine, meter } = await fixtureEngine({ retry: { baseDelayMs: 1 } }, [
      { id: "late", run, conduct },
    ]);
    expect(await call("late", {})).toMatchObject({ status: "success", attempts: 3 });
    await engine.close();
    expect(meter.total("tool_rollbacks_total", { tool_id: "late" })).toBe(2);
    expect(meter.summary("tool_io_bytes", { tool_id: "late", direction: "out" }).sum).toBe(6);
  });

  it("tells fast calls apart in buckets of its own, beside the specified ones [L3P2-5]", () => {
    for (const specified of [0.1, 0.5, 1, 5, 10, 30, 60, 120, 300])
      expect(BUCKETS.execution).toContain(specified);
    expect(BUCKETS.execution.filter((bound) => bound < 0.1).length).toBeGreaterThan(3);
    expect(BUCKETS.execution).toEqual([...BUCKETS.execution].sort((one, other) => one - other));
  });

  it("fits a real OpenTelemetry meter [R1-8.2]", async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 });
    const provider = new MeterProvider({ readers: [reader] });
    const { call, engine } = await fixtureEngine({ meter: provider.getMeter("sallyport") }, tools);
    await call("ok", {});
    await engine.close();
    await provider.forceFlush();
    const names = exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) =>
        scopeMetrics.flatMap(({ metrics }) => metrics.map(({ descriptor }) => descriptor.name)),
      );
    await provider.shutdown();
    expect(names).toContain("tool_invocations_total");
    expect(names).toContain("tool_execution_duration_seconds");
  });

  it("can neither fail nor hold up a call when the meter throws or blocks [R1-8.2]", async () => {
    const throwing = () => {
      throw new Error("exporter is down");
    };
    const broken = {
      createCounter: () => ({ add: throwing }),
      createHistogram: () => ({ record: throwing }),
    };
    const { call, engine } = await fixtureEngine({ meter: broken }, tools);
    expect((await call("ok", {})).status).toBe("success");
    await engine.close();

    let answered = false;
    const writes: boolean[] = [];
    const watching = new MemoryMeter();
    const createCounter = (name: string) => {
      const { add } = watching.createCounter(name);
      return {
        add: (value: number) => {
          writes.push(answered);
          add(value);
        },
      };
    };
    const second = await fixtureEngine(
      { meter: { createCounter, createHistogram: (name) => watching.createHistogram(name) } },
      tools,
    );
    await second.call("ok", {});
    answered = true;
    await second.engine.close();
    expect(writes.length).toBeGreaterThan(0);
    expect(writes.every((afterTheAnswer) => afterTheAnswer)).toBe(true);
  });

  it("can be asked at any moment how many calls run and wait [R1-8.2] [L3P2-5]", () => {
    const meter = new MemoryMeter();
    const telemetry = new Telemetry(meter, { instance: "a" });
    let running = 3;
    telemetry.watch(() => ({ running, waiting: 2, queued: 7 }));
    expect(meter.reading("tool_executions_active", { instance: "a" })).toBe(3);
    running = 1;
    expect(meter.reading("tool_executions_active", { instance: "a" })).toBe(1);
    expect(meter.reading("tool_queue_length", { kind: "waiting" })).toBe(2);
    expect(meter.reading("tool_queue_length", { kind: "queued" })).toBe(7);
    telemetry.close();
    expect(meter.reading("tool_executions_active")).toBeUndefined();
  });

  it("has handed over what waits when somebody looks", () => {
    const meter = new MemoryMeter();
    const telemetry = new Telemetry(meter);
    telemetry.watch(() => ({ running: 0, waiting: 0, queued: 0 }));
    telemetry.decided("denied", 0.01);
    expect(meter.total("permission_checks_total")).toBe(0);
    meter.reading("tool_executions_active");
    expect(meter.total("permission_checks_total", { result: "denied" })).toBe(1);
    telemetry.close();
  });

  it("does without gauges where the meter has none, or throws [R1-8.2]", () => {
    const load = () => ({ running: 0, waiting: 0, queued: 0 });
    const without = { createCounter: () => ({ add() {} }), createHistogram: () => ({ record() {} }) };
    const throwing = {
      ...without,
      createObservableGauge: () => {
        throw new Error("no gauges today");
      },
    };
    const [none, failing] = [new Telemetry(without), new Telemetry(throwing)];
    none.watch(load);
    failing.watch(load);
    expect([none.dropped, failing.dropped]).toEqual([0, 1]);
    for (const telemetry of [none, failing]) telemetry.close();
  });

  it("measures what a tool sent and received over the network [R1-8.2]", async () => {
    const { call, engine } = await fixtureEngine({}, tools);
    const answer = await call("ok", {});
    await engine.close();
    const meter = new MemoryMeter();
    const telemetry = new Telemetry(meter);
    const usage = { ...answer.usage, networkBytesReceived: 2_048, networkBytesSent: 100 };
    telemetry.ended({ ...answer, usage });
    telemetry.close();
    const moved = (direction: string) => meter.summary("tool_io_bytes", { tool_id: "ok", direction }).sum;
    expect([moved("network_in"), moved("network_out")]).toEqual([2_048, 100]);
  });

  it.each([
    { cpuMs: 0, memoryPeakBytes: 4_096, counted: 1 },
    { cpuMs: 2, memoryPeakBytes: 0, counted: 1 },
    { cpuMs: 0, memoryPeakBytes: 0, counted: 0 },
  ])("counts a call of $cpuMs ms and $memoryPeakBytes bytes $counted times [R1-8.2]", async (used) => {
    const { call, engine } = await fixtureEngine({}, tools);
    const answer = await call("ok", {});
    await engine.close();
    const { counted, ...usage } = used;
    const meter = new MemoryMeter();
    const telemetry = new Telemetry(meter);
    telemetry.ended({ ...answer, usage: { ...answer.usage, ...usage } });
    telemetry.close();
    expect(meter.summary("tool_cpu_seconds", { tool_id: "ok" })).toMatchObject({
      count: counted,
      sum: usage.cpuMs / 1_000,
    });
  });

  it("makes no span, and none below it, where nobody traces", () => {
    const telemetry = new Telemetry(new MemoryMeter());
    expect(telemetry.begin({ callId: "c1", tool: "ok" })).toBeUndefined();
  });
});
