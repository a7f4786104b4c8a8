import { describe, expect, it } from "vitest";
import type { Environment } from "./environment.ts";
import { samplerOf } from "./sampler.ts";

function read(env: Environment) {
  const warnings: string[] = [];
  return { sampler: String(samplerOf(env, (message) => void warnings.push(message))), warnings };
}

describe("which traces are kept", () => {
  it.each([
    [undefined, "ParentBased{root=AlwaysOnSampler"],
    ["always_on", "AlwaysOnSampler"],
    ["always_off", "AlwaysOffSampler"],
    ["traceidratio", "TraceIdRatioBased{0.1}"],
    ["parentbased_always_off", "ParentBased{root=AlwaysOffSampler"],
    ["parentbased_traceidratio", "ParentBased{root=TraceIdRatioBased{0.1}"],
  ])("OTEL_TRACES_SAMPLER=%s [L3P2-5]", (name, expected) => {
    const { sampler, warnings } = read({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: "0.1" });
    expect(sampler.startsWith(expected)).toBe(true);
    expect(warnings).toEqual([]);
  });

  it("all where the caller has not decided, when the environment cannot be understood", () => {
    const unknown = read({ OTEL_TRACES_SAMPLER: "xray" });
    expect(unknown.sampler).toContain("ParentBased{root=AlwaysOnSampler");
    expect(unknown.warnings).toHaveLength(1);
    const share = read({ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "10 %" });
    expect(share).toMatchObject({ sampler: "TraceIdRatioBased{1}", warnings: [expect.any(String)] });
  });
});
