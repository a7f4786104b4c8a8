import { isFailure, SallyportError, type ToolManifest } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createEngine } from "../call/engine.ts";
import { createMemoryStore } from "../memory/index.ts";
import type { ToolRecord } from "../ports/tool-records.ts";
import { defineTool, manifestHash } from "../registry/index.ts";
import { createSchemaCompiler } from "../validate/index.ts";
import { engineWith, engineWithRunners } from "./fixtures/broken-engines.ts";
import type { EngineFactory } from "./probe-house.ts";
import { NOTHING, ONE_VALUE, probeFor } from "./probe-tool.ts";
import { proveContainment } from "./tool/containment.ts";
import { checkTool, toolBoxes } from "./tool-boxes.ts";

const tool = defineTool({
  id: "sample",
  version: "1.2.3",
  description: "A sample",
  input: NOTHING,
  output: ONE_VALUE,
  run: () => ({ value: 1 }),
});

const recordOf = (manifest: ToolManifest): ToolRecord => ({
  manifest,
  manifestHash: manifestHash(manifest),
  registeredAt: 0,
  retirement: {},
});

const HELD = { passed: true, evidence: "held" };

async function failedBoxes(record: ToolRecord): Promise<string[]> {
  const containment = () => Promise.resolve({ transaction: HELD, reporting: HELD, answering: HELD });
  const boxes = await checkTool(record, { schemas: createSchemaCompiler(), runner: "inline", containment });
  return boxes.filter(({ passed }) => !passed).map(({ id, evidence }) => `${id} ${evidence}`);
}

/** The sample's manifest with one place changed, as a faulty store might give it back. */
function changed(change: (manifest: Record<string, unknown>) => void): ToolRecord {
  const manifest = JSON.parse(JSON.stringify(tool.manifest));
  change(manifest);
  return recordOf(JSON.parse(JSON.stringify(manifest)));
}

describe("tool boxes", () => {
  it("are ten for each version on the shelf, with its name [R1-9] [R1-4.1]", async () => {
    const engine = await createEngine({ store: createMemoryStore() });
    for (const registered of [
      await engine.tools.add(tool),
      await engine.tools.register({ ...tool.manifest, id: "unloaded" }),
    ]) {
      if (isFailure(registered)) throw new SallyportError(registered);
    }
    const boxes = await toolBoxes(engine.tools);
    await engine.close();
    expect(boxes.map(({ subject }) => subject)).toEqual([
      ...Array(10).fill("sample@1.2.3"),
      ...Array(10).fill("unloaded@1.2.3"),
    ]);
    expect(boxes.slice(0, 10).map(({ id }) => id)).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => `9.1.${n}`),
    );
    expect(boxes.filter(({ passed }) => !passed)).toEqual([]);
    expect(boxes[7]?.evidence).toMatch(/^inline: .*effects outside are journaled, not undone$/);
    expect(boxes[17]?.evidence).toMatch(/inline: .*thread: /);
  });

  it("leave out versions that were removed", async () => {
    const engine = await createEngine({ store: createMemoryStore() });
    await engine.tools.add(tool);
    await engine.tools.remove("sample", "1.2.3", { force: true });
    expect(await toolBoxes(engine.tools)).toEqual([]);
    await engine.close();
  });
});

describe("a declaration box falls open [R1-9]", () => {
  it("and all are ticked for a whole manifest", async () => {
    expect(await failedBoxes(recordOf(tool.manifest))).toEqual([]);
  });

  it.each([
    ["9.1.1", "description", changed((kept) => Object.assign(kept, { description: " " }))],
    ["9.1.1", "name", changed((kept) => delete kept.name)],
    ["9.1.1", "not the one that was registered", { ...recordOf(tool.manifest), manifestHash: "0" }],
    ["9.1.2", "run: ", withSchema("inputSchema", { type: "objekt" })],
    ["9.1.2", "dialect", withSchema("inputSchema", { type: "object" })],
    ["9.1.3", "run: ", withSchema("outputSchema", { $ref: "#/nowhere" })],
    ["9.1.3", "run declares none", withSchema("outputSchema", undefined)],
    ["9.1.4", "not a list", changed((kept) => Object.assign(kept, { requiredCapabilities: "all" }))],
    ["9.1.4", "twice", changed((kept) => Object.assign(kept, { requiredCapabilities: ["a.b", "a.b"] }))],
    ["9.1.5", "no limit of time", changed((kept) => Object.assign(kept, { limits: { memoryBytes: 1 } }))],
    [
      "9.1.5",
      "no limit of memory",
      changed((kept) => Object.assign(kept, { limits: { timeoutMs: 1, memoryBytes: 0 } })),
    ],
    ["9.1.6", "neither yes nor no", changed((kept) => Object.assign(kept, { deterministic: "often" }))],
    ["9.1.7", "neither yes nor no", changed((kept) => delete kept.idempotent)],
  ])("%s when it finds: %s", async (id, evidence, record) => {
    const failed = await failedBoxes(record);
    expect(
      failed.some((line) => line.startsWith(`${id} `) && line.includes(evidence)),
      failed.join("\n"),
    ).toBe(true);
  });
});

function withSchema(side: "inputSchema" | "outputSchema", schema: object | undefined): ToolRecord {
  return changed((manifest) =>
    Object.assign(manifest, { operations: { run: { ...tool.manifest.operations.run, [side]: schema } } }),
  );
}

describe("a containment box falls open [R1-9]", () => {
  it.each(["inline", "thread"] as const)(
    "never, in a sound engine with the %s runner [R1-4.3] [R1-4.4]",
    async (kind) => {
      const { transaction, reporting, answering } = await proveContainment(kind, createEngine);
      expect([transaction, reporting, answering].filter(({ passed }) => !passed)).toEqual([]);
    },
  );

  it("9.1.8: when a tool can change state past the transaction", async () => {
    const direct = engineWithRunners(async (job, inner, store) => {
      const { tenant, callId } = job.facts;
      const scope = { tenant, tool: job.tool };
      const put = async (key: string, value: never) => {
        const state = { scope, callId, snapshotVersion: 99, writes: [{ key, value }] };
        await store.commit({ tenant, events: [], outbox: [], state });
      };
      return await inner.run({ ...job, host: { ...job.host, put } });
    });
    const { transaction } = await proveContainment("inline", direct);
    expect(transaction).toMatchObject({ passed: false, evidence: expect.stringContaining("left behind") });
  });

  it("9.1.9: when errors are reported to nobody", async () => {
    const { reporting } = await proveContainment(
      "inline",
      engineWith(() => ({ errors: { report: () => undefined } })),
    );
    expect(reporting).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("throwText was not reported"),
    });
  });

  it("9.1.10: when an exception comes out as a success", async () => {
    const { answering } = await proveContainment("inline", denying);
    expect(answering).toMatchObject({
      passed: false,
      evidence: expect.stringContaining("did not become a structured error"),
    });
  });

  it("9.1.10: when an exception comes out of the engine itself", async () => {
    const escaping: EngineFactory = async (options) => {
      const engine = await createEngine(options);
      const call: typeof engine.call = async (request) => {
        const answer = await engine.call(request);
        if (answer.status !== "success") throw new Error("escaped");
        return answer;
      };
      return { call, tools: engine.tools, flush: () => engine.flush(), close: () => engine.close() };
    };
    const engine = await createEngine({ store: createMemoryStore() });
    await engine.tools.register(tool.manifest, { implementation: probeFor("inline") });
    const boxes = await toolBoxes(engine.tools, escaping);
    await engine.close();
    expect(boxes[9]).toMatchObject({ passed: false, evidence: expect.stringContaining("escaped") });
  });
});

const denying = engineWithRunners(async (job, inner) => {
  const result = await inner.run(job);
  return result.ok ? result : { ok: true, output: { value: 0 }, usage: result.usage };
});
