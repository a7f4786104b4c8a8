import { beforeAll, describe, expect, it } from "vitest";
import type { Box } from "./box.ts";
import {
  DEAF_METER,
  engineWith,
  engineWithoutSchemas,
  engineWithRunners,
  engineWithUnits,
  YES_MAN,
} from "./fixtures/broken-engines.ts";
import { auditsEverything } from "./runtime/audit.ts";
import { neverCorrupts } from "./runtime/conflict.ts";
import { validatesInputs } from "./runtime/inputs.ts";
import { enforcesLimits } from "./runtime/limits.ts";
import { validatesOutputs } from "./runtime/outputs.ts";
import { authorisesFirst } from "./runtime/permissions.ts";
import { rollsBack } from "./runtime/rollback.ts";
import { emitsTelemetry } from "./runtime/telemetry.ts";
import { runtimeBoxes } from "./runtime-boxes.ts";

describe("runtime boxes", () => {
  let boxes: Box[] = [];
  beforeAll(async () => {
    boxes = await runtimeBoxes();
  });

  it("are eight, in the checklist's order, each with evidence [R1-9]", () => {
    expect(boxes.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => `9.2.${n}`));
    expect(boxes.every(({ section, evidence }) => section === "runtime" && evidence !== "")).toBe(true);
  });

  it("hold for this engine, except what it openly lacks [R1-9] [R1-5.1] [R1-5.2] [R1-5.3] [R1-7.2] [R1-8.1]", () => {
    const failed = boxes.filter(({ passed, notInThisVersion }) => !passed && !notInThisVersion);
    expect(failed).toEqual([]);
  });

  it("a check that throws leaves its box unticked, with the error as evidence [R1-9]", async () => {
    const [first] = await runtimeBoxes(() => Promise.reject(new Error("no engine today")));
    expect(first).toMatchObject({ passed: false, evidence: expect.stringContaining("no engine today") });
  });
});

describe("a runtime box falls open when its promise is broken [R1-9]", () => {
  it("9.2.1: inputs are not checked", async () => {
    const seen = await validatesInputs(engineWithoutSchemas("inputSchema"));
    expect(seen).toMatchObject({ passed: false, evidence: expect.stringContaining("the tool ran 3 times") });
  });

  it("9.2.2: everybody is let in", async () => {
    const seen = await authorisesFirst(engineWith(() => ({ authority: YES_MAN })));
    expect(seen).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("without its capability"),
    });
  });

  it("9.2.2: nobody is let in, not even with a grant", async () => {
    const seen = await authorisesFirst(
      engineWith(() => ({ authority: { decide: () => Promise.reject(new Error()) } })),
    );
    expect(seen).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("the granted agent got E3206"),
    });
  });

  it("9.2.3: the deadline is not kept", async () => {
    const slow = engineWithRunners((job, inner) => {
      return inner.run(job.operation === "linger" ? { ...job, timeoutMs: 5_500 } : job);
    });
    const seen = await enforcesLimits(slow);
    expect(seen).toMatchObject({ passed: false, evidence: expect.stringContaining("held on for") });
  });

  it("9.2.3: memory is not limited", async () => {
    const generous = engineWithRunners((job, inner) => {
      const timeoutMs = job.operation === "hoard" ? 300 : job.timeoutMs;
      return inner.run({ ...job, memoryBytes: 2 ** 34, timeoutMs });
    });
    const seen = await enforcesLimits(generous);
    expect(seen).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("over its memory ended with E3103"),
    });
  });

  it("9.2.4: outputs are not checked", async () => {
    const seen = await validatesOutputs(engineWith(() => ({ resultSteps: [] })));
    expect(seen).toMatchObject({ passed: false, evidence: expect.stringContaining("ended with success") });
  });

  it("9.2.5: an event is swallowed", async () => {
    const quiet = engineWithUnits((unit) => ({ ...unit, events: unit.events.slice(1) }));
    expect(await auditsEverything(quiet)).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("only VALIDATED"),
    });
  });

  it("9.2.5: an event lacks a field", async () => {
    const bare = engineWithUnits((unit) => ({
      ...unit,
      events: unit.events.map((body) => body.replace(/"inputHash":"[^"]*",/, "")),
    }));
    expect(await auditsEverything(bare)).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("inputHash"),
    });
  });

  it("9.2.5: the chain is not kept", async () => {
    const unchained = engineWithUnits((unit) => ({
      ...unit,
      events: unit.events.map((body) => body.replace("{", '{"zz":1,')),
    }));
    expect(await auditsEverything(unchained)).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("the chain is broken"),
    });
  });

  it("9.2.6: readings are swallowed, and that is not excused", async () => {
    const seen = await emitsTelemetry(engineWith(() => ({ meter: DEAF_METER })));
    expect(seen).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("executions: 0 counted, 5 happened"),
    });
    expect(seen.notInThisVersion).toBeUndefined();
  });

  it("9.2.7: a failed call's change stays", async () => {
    const leaky = engineWithRunners(async (job, inner, store) => {
      const result = await inner.run(job);
      if (result.ok) return result;
      const { tenant, callId } = job.facts;
      const writes = [{ key: "left", value: true }];
      const state = { scope: { tenant, tool: job.tool }, callId, snapshotVersion: 99, writes };
      await store.commit({ tenant, events: [], outbox: [], state });
      return result;
    });
    const seen = await rollsBack(leaky);
    expect(seen).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("the state is not as it was"),
    });
    expect(seen.evidence).toContain("the rollback is not verified");
  });

  it("9.2.8: the store overlooks conflicts", async () => {
    const blind = engineWithUnits((unit) =>
      unit.state ? { ...unit, state: { ...unit.state, snapshotVersion: Number.MAX_SAFE_INTEGER } } : unit,
    );
    const seen = await neverCorrupts(blind);
    expect(seen).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("two rivals got success"),
    });
    expect(seen.evidence).toContain("20 of 20 calls at once counted, the counter says 1");
  });
});
