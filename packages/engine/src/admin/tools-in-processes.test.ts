import type { ToolManifest } from "@sallyport/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { grantAuthority } from "../authorise/authority.ts";
import { MemoryBus } from "../memory/platform.ts";
import { createMemoryStore } from "../memory/store.ts";
import { type DefinedTool, defineTool } from "../registry/index.ts";
import { createEngine, type Engine } from "./engine.ts";

const input = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
const toolAt = (version: string, description = "Says it again."): DefinedTool =>
  defineTool({ id: "echo", version, description, sideEffects: "none", input, run: (given) => given });
const everything = { tools: ["*"], tenants: ["*"], agents: ["*"], operations: ["*"], capabilities: [] };
const caller = { tenant: "acme", agent: "a" };
const ORDER = { reason: "it wrote outside", by: "sallyport" };

const store = { now: createMemoryStore() };
const engines: Engine[] = [];

/** Two engines on one store; without a bus they hear of each other only when they look. */
async function two(bus?: MemoryBus): Promise<[Engine, Engine]> {
  store.now = createMemoryStore();
  const authority = grantAuthority([{ id: "all", ...everything }]);
  const open = () => createEngine({ store: store.now, authority, ...(bus && { bus }) });
  const pair: [Engine, Engine] = [await open(), await open()];
  engines.push(...pair);
  return pair;
}

afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

const echo = (engine: Engine) => engine.call({ tool: "echo", input: {}, caller });
const kept = async () => (await store.now.tools.changedSince()).changed;

describe("tools that several processes register", () => {
  it("are one version when they are the same, in whatever order, and each has its code", async () => {
    const [one, other] = await two();
    const versions = ["1.0.0", "1.1.0", "1.2.0"];
    const all = [one, other].flatMap((engine) =>
      versions.map((version) => engine.tools.add(toolAt(version))),
    );
    expect((await Promise.all(all)).filter((registered) => "code" in registered)).toEqual([]);
    expect((await kept()).map(({ manifest, revision }) => [manifest.version, revision])).toEqual(
      versions.map((version) => [version, 1]),
    );
    expect([await echo(one), await echo(other)]).toMatchObject([
      { status: "success" },
      { status: "success" },
    ]);
  });

  it("are refused by the second one when it has another manifest under the same version", async () => {
    const [one, other] = await two();
    await one.tools.add(toolAt("1.0.0"));
    const refused = await other.tools.add(toolAt("1.0.0", "Says something else."));
    expect(refused).toMatchObject({ code: "E3011", message: "echo 1.0.0 is registered with other content" });
    expect((await kept()).map(({ manifest }: { manifest: ToolManifest }) => manifest.description)).toEqual([
      "Says it again.",
    ]);
    expect(await echo(other)).toMatchObject({ status: "error" });
  });

  it("are exchanged beside another process that has changed them", async () => {
    const [one, other] = await two();
    await one.tools.add(toolAt("1.0.0"));
    const { manifest } = toolAt("1.0.0");
    const implementation = { kind: "inline" as const, operations: {}, summaries: {} };
    expect(await other.tools.exchange({ load: [{ manifest, implementation }], unload: [] })).toEqual([]);
    expect(await kept()).toHaveLength(1);
  });
});

describe("a change of a tool by another process", () => {
  it("is followed at a hint of the bus, and without one when it is looked for [R3-4]", async () => {
    const [one, other] = await two(new MemoryBus());
    for (const engine of [one, other]) await engine.tools.add(toolAt("1.0.0"));
    await one.tools.quarantine("echo", "1.0.0", ORDER);
    await expect.poll(() => echo(other)).toMatchObject({ error: { code: "E3219" } });
    const [alone, apart] = await two();
    for (const engine of [alone, apart]) await engine.tools.add(toolAt("1.0.0"));
    await alone.tools.quarantine("echo", "1.0.0", ORDER);
    expect(await echo(apart)).toMatchObject({ status: "success" });
    await apart.tools.follow();
    expect(await echo(apart)).toMatchObject({ error: { code: "E3219" } });
    await apart.tools.release("echo", "1.0.0", { by: "olga", note: "harmless" });
    await alone.tools.follow();
    expect(await echo(alone)).toMatchObject({ status: "success" });
  });

  it("is kept when this one changes the same version without having seen it", async () => {
    const [one, other] = await two();
    for (const engine of [one, other]) await engine.tools.add(toolAt("1.0.0"));
    await one.tools.quarantine("echo", "1.0.0", ORDER);
    await other.tools.deprecate("echo", "1.0.0", { guidance: "use shout" });
    expect(await kept()).toMatchObject([
      { quarantine: ORDER, retirement: { guidance: "use shout" }, revision: 3 },
    ]);
    const [again] = await Promise.all([
      other.tools.quarantine("echo", "1.0.0", { ...ORDER, reason: "another" }),
      one.tools.follow(),
    ]);
    expect(again).toMatchObject({ quarantine: { reason: ORDER.reason } });
  });
});
