import { completeManifest, type ToolManifest } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { Implementation, Runner } from "../ports/runner.ts";
import { FaultPlan, withFaults } from "../testing/faults.ts";
import { auditOf, fixtureEngine } from "../testing/fixture-engine.ts";

const $schema = "https://json-schema.org/draft/2020-12/schema";

function manifest(id: string, version = "1.0.0"): ToolManifest {
  const run = { description: "Tells.", inputSchema: { $schema }, outputSchema: { $schema } };
  return completeManifest({
    id,
    version,
    name: id,
    description: "Tells.",
    sideEffects: "none",
    operations: { run },
  });
}

const inline = (run: () => unknown): Implementation => ({ kind: "inline", operations: { run } });
const one = inline(() => "one");
const other = inline(() => "other");
const LOST = {
  method: "commit",
  when: "before",
  action: { kind: "reject", error: new Error("lost") },
} as const;

describe("registering several tools at once", () => {
  it("writes each change once, in the order they came", async () => {
    const { engine, store } = await fixtureEngine();
    const names = ["a", "b", "c", "d"];
    await Promise.all(names.map((id) => engine.tools.register(manifest(id), { implementation: one })));
    expect((await auditOf(store, "sallyport")).map(({ toolId }) => toolId)).toEqual(names);
    await engine.close();
  });

  it("loses none when one of the writes fails", async () => {
    const store = createMemoryStore();
    const faulty = withFaults(store, new FaultPlan([{ ...LOST, nth: 2 }]));
    const { engine } = await fixtureEngine({ store: faulty });
    const names = ["a", "b", "c", "d"];
    const written = await Promise.allSettled(names.map((id) => engine.tools.register(manifest(id))));
    expect(written.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect((await auditOf(store, "sallyport")).map(({ toolId }) => toolId)).toEqual(names);
    await engine.close();
  });
});

describe("registering a version again", () => {
  it("keeps the code behind it, unless the code is replaced on purpose (E3007) [FR-REG-03]", async () => {
    const { engine, call } = await fixtureEngine();
    const add = (implementation: Implementation, options = {}) =>
      engine.tools.register(manifest("tool"), { implementation, ...options });
    expect(await add(one)).toMatchObject({ added: true });
    expect(await add(structuredCopy(one))).toMatchObject({ added: false, replaced: false });
    expect(await add(other)).toMatchObject({ code: "E3007" });
    expect(await call("tool", {})).toMatchObject({ result: "one" });
    expect(await add(other, { onDuplicate: "replace" })).toMatchObject({ replaced: true });
    expect(await call("tool", {})).toMatchObject({ result: "other" });
    await engine.close();
  });

  it("attaches the code after a restart", async () => {
    const store = createMemoryStore();
    for (const implementation of [one, other]) {
      const { engine, call } = await fixtureEngine({ store });
      expect(await engine.tools.register(manifest("tool"), { implementation })).not.toHaveProperty("code");
      expect(await call("tool", {})).toMatchObject({ status: "success" });
      await engine.close();
    }
  });
});

describe("an exchange of code", () => {
  const next = {
    load: [
      { manifest: manifest("tool", "1.1.0"), implementation: other },
      { manifest: manifest("new"), implementation: other },
    ],
    unload: [{ id: "tool", version: "1.0.0" }],
  };

  it.each([
    ["the store fails", [{ ...LOST, nth: 2 }], next],
    [
      "one of the tools is refused",
      [],
      {
        ...next,
        load: [
          ...next.load,
          { manifest: { ...manifest("tool"), description: "Other." }, implementation: other },
        ],
      },
    ],
  ])("changes nothing when %s", async (_, rules, exchange) => {
    const store = withFaults(createMemoryStore(), new FaultPlan(rules));
    const { engine, call } = await fixtureEngine({ store });
    await engine.tools.register(manifest("tool"), { implementation: one });
    const refused = await engine.tools.exchange(exchange).catch((error: Error) => [error.message]);
    expect(refused).toEqual([rules.length > 0 ? "lost" : expect.objectContaining({ code: "E3011" })]);
    expect(engine.tools.list()).toHaveLength(1);
    expect((await store.tools.changedSince()).changed).toHaveLength(1);
    expect(await call("tool", {})).toMatchObject({ result: "one", version: "1.0.0" });
    await engine.close();
  });

  it("goes on record as one unit, and ends the warm code of what changed", async () => {
    const plan = new FaultPlan();
    const retired: string[] = [];
    const runner: Runner = {
      kind: "thread",
      isolation: { level: "LEVEL_0", runner: "thread" },
      run: () => Promise.reject(new Error("not called")),
      retire: async (tool) => void retired.push(tool),
      close: async () => undefined,
    };
    const store = withFaults(createMemoryStore(), plan);
    const { engine, call } = await fixtureEngine({ store, runners: [runner] });
    await engine.tools.register(manifest("tool"), { implementation: one });
    await engine.tools.register(manifest("kept"), { implementation: one });
    const before = plan.seen.filter(({ method }) => method === "commit").length;
    const load = [...next.load, { manifest: manifest("kept"), implementation: one }];
    const together = () => {
      retired.push(`with ${engine.tools.definitions().find(({ id }) => id === "tool")?.version}`);
    };
    expect(await engine.tools.exchange({ ...next, load, together })).toEqual([]);
    expect(plan.seen.filter(({ method }) => method === "commit")).toHaveLength(before + 1);
    expect(await call("tool", {})).toMatchObject({ result: "other", version: "1.1.0" });
    expect(retired).toEqual(["with 1.1.0", "tool"]);
    await engine.tools.exchange({
      load: [{ manifest: manifest("tool"), implementation: one }],
      unload: [{ id: "tool", version: "1.1.0" }],
    });
    expect(await call("tool", {})).toMatchObject({ result: "one", version: "1.0.0" });
    await engine.close();
  });

  it("refuses a call whose version went while it waited to run (E3920)", async () => {
    const { engine, call } = await fixtureEngine({
      hooks: [
        { name: "late", before: async () => void (await engine.tools.exchange({ ...next, load: [] })) },
      ],
    });
    await engine.tools.register(manifest("tool"), { implementation: one });
    expect(await call("tool", {})).toMatchObject({
      error: {
        code: "E3920",
        message: "tool 1.0.0 was taken away while the call waited: nothing runs it here any more.",
        advice: expect.stringMatching(/Call a version that is there now/),
      },
    });
    expect(await call("tool", {}, { version: "1.0.0" })).toMatchObject({
      error: { code: "E3920", message: "tool 1.0.0 is on record, and nothing runs it here." },
    });
    await engine.close();
  });

  it("lets a waiting call whose tool needs no loaded code finish, unless the tool has gone", async () => {
    const whole: Implementation = { ...one, outlivesVersion: true };
    for (const [load, ending] of [
      [next.load, { result: "one", version: "1.0.0" }],
      [[], { error: { code: "E3920" } }],
    ] as const) {
      const before = async () => void (await engine.tools.exchange({ ...next, load: [...load] }));
      const { engine, call } = await fixtureEngine({ hooks: [{ name: "late", before }] });
      await engine.tools.register(manifest("tool"), { implementation: whole });
      expect(await call("tool", {})).toMatchObject(ending);
      await engine.close();
    }
  });
});

function structuredCopy(implementation: Implementation): Implementation {
  return { ...implementation, operations: { ...Object(implementation.operations) } };
}
