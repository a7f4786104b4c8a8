import { createEngine, createMemoryStore, defineTool } from "@sallyport/engine";
import { createSchemaCompiler } from "@sallyport/engine/host";
import type { ToolContext } from "@sallyport/engine/ports";
import type { ToolManifest } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { sampleInput } from "../serve/sample-input.ts";
import { runChecks } from "./check.ts";
import { engineThat, engineWith, engineWithRunners, SOUND_ENGINE } from "./fixtures/broken-engines.ts";
import { NOTHING, ONE_VALUE, probeFor, type RunnerKind } from "./probe-tool.ts";
import { checkTools, misbehaveIn, TOOL_CHECKS } from "./tool-checks.ts";

const SAMPLE = { id: "sample", version: "1.2.3", description: "A sample" };
const tool = defineTool({ ...SAMPLE, input: NOTHING, output: ONE_VALUE, run: () => ({ value: 1 }) });

async function failedChecks(manifest: ToolManifest, make = SOUND_ENGINE): Promise<string[]> {
  const parts = {
    make,
    sample: sampleInput,
    schemas: createSchemaCompiler(),
    implementation: probeFor("inline"),
    misbehave: (runner: RunnerKind) => misbehaveIn(runner, make),
  };
  const checks = await runChecks(TOOL_CHECKS, { manifest, manifestHash: "0", ...parts });
  return checks.filter(({ passed }) => !passed).map(({ id, evidence }) => `${id} ${evidence}`);
}

/** The sample's manifest with one place changed, as a faulty store might give it back. */
function changed(change: object): ToolManifest {
  return JSON.parse(JSON.stringify({ ...tool.manifest, ...change }));
}

function withSchema(side: "inputSchema" | "outputSchema", schema: object | undefined): ToolManifest {
  return changed({ operations: { run: { ...tool.manifest.operations.run, [side]: schema } } });
}

describe("tool checks", () => {
  it("are ten for each version in the catalogue, with its name [R1-9] [R1-4.1]", async () => {
    const engine = await createEngine({ store: createMemoryStore() });
    await engine.tools.add(tool);
    await engine.tools.register({ ...tool.manifest, id: "unloaded" });
    const checks = await checkTools(engine.tools, SOUND_ENGINE, sampleInput);
    await engine.close();
    expect(checks.map(({ subject }) => subject)).toEqual([
      ...Array(10).fill("sample@1.2.3"),
      ...Array(10).fill("unloaded@1.2.3"),
    ]);
    expect(checks.slice(0, 10).map(({ id }) => id)).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => `9.1.${n}`),
    );
    expect(checks.filter(({ passed }) => !passed)).toEqual([]);
    expect(checks[7]?.evidence).toMatch(/^inline: .*effects outside are journaled, not undone$/);
    expect(checks[17]?.evidence).toMatch(/inline: .*thread: /);
  });

  it("leave out versions that were removed", async () => {
    const engine = await createEngine({ store: createMemoryStore() });
    await engine.tools.add(tool);
    await engine.tools.remove("sample", "1.2.3", { force: true });
    expect(await checkTools(engine.tools, SOUND_ENGINE, sampleInput)).toEqual([]);
    await engine.close();
  });
});

describe("a tool that declares to be deterministic or idempotent is run twice [R1-4.1] [R1-9]", () => {
  let runs = 0;
  const add = async (_: unknown, { state }: ToolContext) => {
    const value = Number((await state.get("n")) ?? 0) + 1;
    await state.put("n", value);
    return { value };
  };
  const put = async (_: unknown, { state }: ToolContext) => {
    await state.put("n", 1);
    return { value: ++runs };
  };
  const external = { sideEffects: "external", deterministic: true, idempotent: true } as const;

  it.each([
    ["equal results", { deterministic: true }, () => ({ value: 1 }), []],
    ["different results", { deterministic: true }, () => ({ value: ++runs }), ["9.1.6"]],
    ["results that follow the state", { deterministic: true }, add, []],
    ["equal state", { idempotent: true }, put, []],
    ["state that grows", { idempotent: true }, add, ["9.1.7"]],
    ["no promise", {}, put, []],
    ["effects outside, and so no run", external, put, []],
  ])("%s", async (_, conduct, run, failed) => {
    const engine = await createEngine({ store: createMemoryStore() });
    const requiredCapabilities = ["state.read", "state.write"];
    const declared = { sideEffects: "state" as const, ...conduct };
    await engine.tools.add(
      defineTool({ ...SAMPLE, requiredCapabilities, ...declared, input: NOTHING, output: ONE_VALUE, run }),
    );
    const before = runs;
    const checks = await checkTools(engine.tools, SOUND_ENGINE, sampleInput);
    expect(checks.filter(({ passed }) => !passed).map(({ id }) => id)).toEqual(failed);
    if (declared.sideEffects === "external") expect(runs).toBe(before);
    await engine.close();
  });
});

describe("a check of the declaration fails [R1-9]", () => {
  it.each([
    ["9.1.1", "description", changed({ description: " " })],
    ["9.1.1", "name", changed({ name: undefined })],
    ["9.1.1", "not the one that was registered", tool.manifest],
    ["9.1.2", "run: ", withSchema("inputSchema", { type: "objekt" })],
    ["9.1.2", "dialect", withSchema("inputSchema", { type: "object" })],
    ["9.1.3", "run: ", withSchema("outputSchema", { $ref: "#/nowhere" })],
    ["9.1.3", "run declares none", withSchema("outputSchema", undefined)],
    ["9.1.4", "not a list", changed({ requiredCapabilities: "all" })],
    ["9.1.4", "twice", changed({ requiredCapabilities: ["a.b", "a.b"] })],
    ["9.1.5", "no limit of time", changed({ limits: { memoryBytes: 1 } })],
    ["9.1.5", "of memory", changed({ limits: { timeoutMs: 1, memoryBytes: 0 } })],
    ["9.1.6", "neither yes nor no", changed({ deterministic: "often" })],
    ["9.1.7", "neither yes nor no", changed({ idempotent: undefined })],
  ])("%s when it finds: %s", async (id, evidence, manifest) => {
    const failed = await failedChecks(manifest);
    expect(failed).toContainEqual(expect.stringMatching(new RegExp(`^${id} .*${evidence}`)));
  });
});

const direct = engineWithRunners(async (job, inner, store) => {
  const { tenant, callId } = job.facts;
  const scope = { tenant, tool: job.tool };
  const put = async (key: string, value: never) => {
    const state = { scope, callId, snapshotVersion: 99, writes: [{ key, value }] };
    await store.commit({ tenant, state });
  };
  return await inner.run({ ...job, host: { ...job.host, put } });
});

const denying = engineWithRunners(async (job, inner) => {
  const result = await inner.run(job);
  return result.ok ? result : { ok: true, output: { value: 0 }, usage: result.usage };
});

const escaping = engineThat((engine) => ({
  call: async (request) => {
    const answer = await engine.call(request);
    if (answer.status !== "success") throw new Error("escaped");
    return answer;
  },
}));

const silent = engineWith(() => ({ errors: { report: () => undefined } }));

describe("a check of the containment fails [R1-9] [R1-4.3] [R1-4.4]", () => {
  it.each([
    ["9.1.8", "a tool can change state past the transaction", direct, "left behind"],
    ["9.1.9", "errors are reported to nobody", silent, "throwText was not reported"],
    ["9.1.10", "an exception comes out as a success", denying, "did not become a structured error"],
    ["9.1.10", "an exception comes out of the engine itself", escaping, "escaped"],
  ])("%s when %s", async (id, _what, make, evidence) => {
    const failed = await failedChecks(tool.manifest, make);
    expect(failed).toContainEqual(expect.stringMatching(new RegExp(`^${id} .*${evidence}`)));
  });
});
