import { beforeAll, describe, expect, it } from "vitest";
import { type Check, runChecks } from "./check.ts";
import {
  DEAF_METER,
  engineWith,
  engineWithRunners,
  engineWithUnits,
  SOUND_ENGINE,
  WITHOUT_INPUT_SCHEMAS,
  YES_MAN,
} from "./fixtures/broken-engines.ts";
import type { EngineFactory } from "./probe-engine.ts";
import { RUNTIME_CHECKS } from "./runtime-checks.ts";

describe("runtime checks", () => {
  let checks: Check[] = [];
  beforeAll(async () => {
    checks = await runChecks(RUNTIME_CHECKS, SOUND_ENGINE);
  });

  it("are eight, in the checklist's order, each with evidence [R1-9]", () => {
    expect(checks.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => `9.2.${n}`));
    expect(checks.every(({ section, evidence }) => section === "runtime" && evidence !== "")).toBe(true);
  });

  it("hold for this engine [R1-9] [R1-5.1] [R1-5.2] [R1-5.3] [R1-7.2] [R1-8.1]", () => {
    expect(checks.filter(({ passed }) => !passed)).toEqual([]);
  });

  it("do not pass when they throw, with the error as evidence [R1-9]", async () => {
    const [first] = await runChecks(RUNTIME_CHECKS, () => Promise.reject(new Error("no engine today")));
    expect(first).toMatchObject({ passed: false, evidence: expect.stringContaining("no engine today") });
  });
});

const slow = engineWithRunners((job, inner) =>
  inner.run(job.operation === "linger" ? { ...job, timeoutMs: 5_500 } : job),
);
const generous = engineWithRunners((job, inner) => {
  const timeoutMs = job.operation === "hoard" ? 300 : job.timeoutMs;
  return inner.run({ ...job, memoryBytes: 2 ** 34, timeoutMs });
});
const rejecting = engineWith(() => ({ authority: { decide: () => Promise.reject(new Error()) } }));
const withEvents = (change: (body: string) => string) =>
  engineWithUnits((unit) => ({ ...unit, audit: unit.audit && change(unit.audit) }));
const leaky = engineWithRunners(async (job, inner, store) => {
  const result = await inner.run(job);
  if (result.ok) return result;
  const { tenant, callId } = job.facts;
  const writes = [{ key: "left", value: true }];
  const state = { scope: { tenant, tool: job.tool }, callId, snapshotVersion: 99, writes };
  await store.commit({ tenant, state });
  return result;
});
const blind = engineWithUnits((unit) =>
  unit.state ? { ...unit, state: { ...unit.state, snapshotVersion: Number.MAX_SAFE_INTEGER } } : unit,
);

const BROKEN: [id: string, what: string, make: EngineFactory, evidence: string[]][] = [
  ["9.2.1", "inputs are not checked", WITHOUT_INPUT_SCHEMAS, ["the tool ran 3 times"]],
  ["9.2.2", "everybody is let in", engineWith(() => ({ authority: YES_MAN })), ["without its capability"]],
  ["9.2.2", "nobody is let in, not even with a grant", rejecting, ["the granted agent got E3206"]],
  ["9.2.3", "the deadline is not kept", slow, ["held on for"]],
  ["9.2.3", "memory is not limited", generous, ["over its memory ended with E3103"]],
  ["9.2.4", "outputs are not checked", engineWith(() => ({ resultSteps: [] })), ["ended with success"]],
  [
    "9.2.5",
    "an event is swallowed",
    withEvents((body) => body.replace(/\{[^{}]*"state":"DECLARED"[^{}]*\},/, "")),
    ["only VALIDATED"],
  ],
  [
    "9.2.5",
    "an event lacks a field",
    withEvents((body) => body.replace(/"inputHash":"[^"]*",/, "")),
    ["inputHash"],
  ],
  [
    "9.2.5",
    "the chain is not kept",
    withEvents((body) => body.replace("{", '{"zz":1,')),
    ["the chain is broken"],
  ],
  [
    "9.2.6",
    "readings are swallowed",
    engineWith(() => ({ meter: DEAF_METER })),
    ["executions: 0 counted, 5 happened"],
  ],
  [
    "9.2.7",
    "a failed call's change stays",
    leaky,
    ["the state is not as it was", "the rollback is not verified"],
  ],
  [
    "9.2.8",
    "the store overlooks conflicts",
    blind,
    ["two rivals got success", "20 of 20 calls at once counted, the counter says 1"],
  ],
];

describe("a runtime check fails when its promise is broken [R1-9]", () => {
  it.each(BROKEN)("%s: %s", async (id, _what, make, evidence) => {
    const checks = RUNTIME_CHECKS.checks.filter(([own]) => own === id);
    const [check] = await runChecks({ ...RUNTIME_CHECKS, checks }, make);
    expect(check).toMatchObject({ id, passed: false });
    for (const text of evidence) expect(check?.evidence).toContain(text);
  });
});
