import { describe, expect, it } from "vitest";
import { observedEngine } from "./fixtures/observed-engine.ts";
import { OtlpReceiver } from "./fixtures/otlp-receiver.ts";
import { openTelemetry } from "./index.ts";

const CALLS = 60;
const CLOSE_MS = 300;

/** Everything is sent at once, so that trouble comes while calls are made. */
const EAGER = {
  OTEL_BSP_SCHEDULE_DELAY: "5",
  OTEL_METRIC_EXPORT_INTERVAL: "10",
  OTEL_EXPORTER_OTLP_TIMEOUT: "400",
};

interface Seen {
  statuses: Set<string>;
  warnings: string[];
  closedInMs: number;
}

async function callsWith(endpoint: string, env: object = {}): Promise<Seen> {
  const warnings: string[] = [];
  const telemetry = openTelemetry(
    { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...EAGER, ...env },
    { instance: "one", version: "1.2.3", warn: (message) => void warnings.push(message), closeMs: CLOSE_MS },
  );
  const { call, engine } = await observedEngine(telemetry);
  const statuses = new Set<string>();
  for (let made = 0; made < CALLS; made += 1) {
    statuses.add((await call("writes")).status);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await engine.close();
  const before = performance.now();
  await telemetry.close();
  return { statuses, warnings, closedInMs: performance.now() - before };
}

describe("a collector in trouble", () => {
  it("that is not there costs no call anything, and closing little time [R1-8.2] [L3P2-5]", async () => {
    const receiver = new OtlpReceiver();
    const endpoint = await receiver.open();
    await receiver.close();
    const { statuses, closedInMs, warnings } = await callsWith(endpoint);
    expect([...statuses]).toEqual(["success"]);
    expect(mentionsOf(warnings)).toEqual({ traces: 1, metrics: 1 });
    expect(closedInMs).toBeLessThan(CLOSE_MS + 200);
  });

  it("that never answers costs no call anything, and closing little time [R1-8.2] [L3P2-5]", async () => {
    const receiver = new OtlpReceiver("silent");
    const patient = { OTEL_EXPORTER_OTLP_TIMEOUT: "1500" };
    const { statuses, closedInMs } = await callsWith(await receiver.open(), patient);
    await receiver.close();
    expect(receiver.requests).toBeGreaterThan(0);
    expect([...statuses]).toEqual(["success"]);
    expect(closedInMs).toBeLessThan(CLOSE_MS + 200);
  });

  it("that answers with errors costs no call anything, and is mentioned once [R1-8.2] [L3P2-5]", async () => {
    const receiver = new OtlpReceiver("failing");
    const { statuses, warnings } = await callsWith(await receiver.open());
    await receiver.close();
    expect([...statuses]).toEqual(["success"]);
    expect(receiver.requests).toBeGreaterThan(2);
    expect(mentionsOf(warnings)).toEqual({ traces: 1, metrics: 1 });
  });
});

function mentionsOf(warnings: string[]): { traces: number; metrics: number } {
  const times = (what: string) => warnings.filter((warning) => warning.includes(what)).length;
  return { traces: times("does not take traces"), metrics: times("does not take metrics") };
}
