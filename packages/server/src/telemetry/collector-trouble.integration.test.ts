import { describe, expect, it, vi } from "vitest";
import { observedEngine } from "./fixtures/observed-engine.ts";
import { OtlpReceiver } from "./fixtures/otlp-receiver.ts";
import { openTelemetry } from "./index.ts";

const CALLS = 60;
const CLOSE_MS = 300;
/** What happens by itself, also on a machine that is busy; far less than a collector is waited for here. */
const SOON_MS = 20_000;

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

interface Trouble {
  env?: object;
  /** Throws until the trouble has shown itself: it is told while calls are made or a little after. */
  shown: (warnings: string[]) => void;
}

async function callsWith(endpoint: string, { env = {}, shown }: Trouble): Promise<Seen> {
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
  await vi.waitFor(() => shown(warnings), SOON_MS);
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
    const { statuses, closedInMs, warnings } = await callsWith(endpoint, { shown: areMentioned });
    expect([...statuses]).toEqual(["success"]);
    areMentioned(warnings);
    expect(closedInMs).toBeLessThan(SOON_MS);
  });

  it("that never answers costs no call anything, and closing little time [R1-8.2] [L3P2-5]", async () => {
    const receiver = new OtlpReceiver("silent");
    const { statuses, closedInMs } = await callsWith(await receiver.open(), {
      env: { OTEL_EXPORTER_OTLP_TIMEOUT: "60000" },
      shown: () => expect(receiver.requests).toBeGreaterThan(0),
    });
    await receiver.close();
    expect([...statuses]).toEqual(["success"]);
    expect(closedInMs).toBeLessThan(SOON_MS);
  });

  it("that answers with errors costs no call anything, and is mentioned once [R1-8.2] [L3P2-5]", async () => {
    const receiver = new OtlpReceiver("failing");
    const { statuses, warnings } = await callsWith(await receiver.open(), {
      shown: (told) => {
        areMentioned(told);
        expect(receiver.requests).toBeGreaterThan(2);
      },
    });
    await receiver.close();
    expect([...statuses]).toEqual(["success"]);
    areMentioned(warnings);
  });
});

/** Each once. */
function areMentioned(warnings: string[]): void {
  const times = (what: string) => warnings.filter((warning) => warning.includes(what)).length;
  expect([times("does not take traces"), times("does not take metrics")]).toEqual([1, 1]);
}
