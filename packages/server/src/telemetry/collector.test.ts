import { describe, expect, it } from "vitest";
import { collectorOf } from "./collector.ts";
import type { Environment } from "./environment.ts";

/** Where a signal goes, and what is said about the environment on the way. */
function read(env: Environment, signal: "traces" | "metrics" = "traces") {
  const warnings: string[] = [];
  return { collector: collectorOf(signal, env, (message) => void warnings.push(message)), warnings };
}

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/" };

describe("where telemetry is sent", () => {
  it("is nowhere until an endpoint or otlp is named", () => {
    expect(read({}).collector).toBeUndefined();
    expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: " " }).collector).toBeUndefined();
    expect(read({ OTEL_TRACES_EXPORTER: "otlp" }).collector?.url).toBe("http://localhost:4318/v1/traces");
  });

  it("is the endpoint for all signals with the signal's path, or the signal's own as it is", () => {
    expect(read(ENDPOINT).collector?.url).toBe("http://collector:4318/v1/traces");
    expect(read(ENDPOINT, "metrics").collector?.url).toBe("http://collector:4318/v1/metrics");
    const own = { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://elsewhere/in" };
    expect(read(own).collector?.url).toBe("https://elsewhere/in");
    expect(read(own, "metrics").collector?.url).toBe("http://collector:4318/v1/metrics");
  });

  it.each<[string, Environment]>([
    ["the exporter is none", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }],
    ["telemetry is disabled", { ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }],
  ])("is nowhere when %s", (_why, env) => {
    expect(read(env)).toEqual({ collector: undefined, warnings: [] });
  });

  it.each<[string, Environment]>([
    ["an exporter that there is not", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "zipkin" }],
    ["an endpoint that is no address", { OTEL_EXPORTER_OTLP_ENDPOINT: "collector" }],
    ["an endpoint of another kind", { OTEL_EXPORTER_OTLP_ENDPOINT: "file:///etc/passwd" }],
    ["a protocol that is not spoken", { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }],
  ])("is nowhere, and that is said, with %s", (_what, env) => {
    const { collector, warnings } = read(env);
    expect(collector).toBeUndefined();
    expect(warnings).toHaveLength(1);
  });

  it("leaves Prometheus and OTLP side by side", () => {
    expect(read({ ...ENDPOINT, OTEL_METRICS_EXPORTER: "prometheus" }, "metrics")).toEqual({
      collector: undefined,
      warnings: [],
    });
    const both = { ...ENDPOINT, OTEL_METRICS_EXPORTER: "otlp, prometheus" };
    expect(read(both, "metrics").collector?.url).toBe("http://collector:4318/v1/metrics");
  });

  it("takes headers and time limits, the signal's own before those for all", () => {
    const { collector } = read({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: "a=1, b=x%2Cy",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "a=2",
      OTEL_EXPORTER_OTLP_TIMEOUT: "500",
    });
    expect(collector).toMatchObject({ headers: { a: "2", b: "x,y" }, timeoutMs: 500 });
  });

  it("says what cannot be read, without the value", () => {
    const { collector, warnings } = read({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: "secret%ZZ=hunter2",
      OTEL_EXPORTER_OTLP_TIMEOUT: "soon",
    });
    expect(collector).toMatchObject({ headers: {}, timeoutMs: 10_000 });
    expect(warnings).toHaveLength(2);
    expect(warnings.join()).not.toMatch(/hunter2|soon/);
  });
});
