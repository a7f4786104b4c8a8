import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createEngine,
  createMemoryStore,
  defineTool,
  type EngineOptions,
  grantAuthority,
  verifyChain,
} from "@sallyport/engine";
import type { Decision, Runner } from "@sallyport/engine/ports";
import { describe, expect, it } from "vitest";
import { Shell } from "./shell.ts";

/* Each of these was found by hostile use, and broke once. */

const TOOL_ENTRY = new URL("../../packages/engine/src/tool.ts", import.meta.url).href;
const SCHEMA = "https://json-schema.org/draft/2020-12/schema";
const ANY = { $schema: SCHEMA, type: "object" };
const CAPABILITIES = ["state.read", "state.write"];
const ALLOW: Decision = {
  outcome: "allow",
  reason: "granted",
  rules: ["r"],
  capabilities: CAPABILITIES,
  missing: [],
  policyVersion: "1",
};
const everything = grantAuthority([
  { id: "all", tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"], capabilities: CAPABILITIES },
]);
const acme = { tenant: "acme", agent: "a" };

async function engineWith(run: unknown, given: Partial<EngineOptions> & { effects?: string } = {}) {
  const { effects = "none", ...options } = given;
  const store = options.store ?? createMemoryStore();
  const engine = await createEngine({ authority: everything, ...options, store });
  const conduct = {
    sideEffects: effects,
    ...(effects === "state" && { requiredCapabilities: CAPABILITIES }),
  };
  await engine.tools.add(
    defineTool({
      id: "t",
      version: "1.0.0",
      description: "Does as it is told.",
      ...conduct,
      input: ANY,
      output: ANY,
      run,
    } as unknown as Parameters<typeof defineTool>[0]),
  );
  return { engine, store };
}

async function findings(store: ReturnType<typeof createMemoryStore>, tenant: string) {
  return (await verifyChain(store.audit, tenant)).findings;
}

describe("hostile use of the engine", () => {
  it("who a call is for cannot change after it was authorised", async () => {
    const authority = {
      decide: async () => {
        await sleep(50);
        return ALLOW;
      },
    };
    const put = async (
      _: object,
      { state }: { state: { put(key: string, value: number): Promise<void> } },
    ) => {
      await state.put("k", 1);
      return {};
    };
    const { engine, store } = await engineWith(put, { authority, effects: "state" });
    const caller = { ...acme };
    const answer = engine.call({ tool: "t", input: {}, caller });
    await sleep(10);
    caller.tenant = "victim";
    await answer;
    const snapshot = await store.state.open({ tenant: "victim", tool: "t" });
    expect(await store.state.get(snapshot, "k")).toBeUndefined();
    expect(await findings(store, "victim")).toEqual([]);
  });

  it("an authority cannot change the input that was validated", async () => {
    const authority = {
      decide: ({ input }: { input: unknown }) => {
        Object.assign(input as object, { n: 9_999 });
        return ALLOW;
      },
    };
    const { engine } = await engineWith((input: object) => input, { authority });
    const answer = await engine.call({ tool: "t", input: { n: 1 }, caller: acme });
    expect(answer).not.toMatchObject({ result: { n: 9_999 } });
  });

  it("a call whose id is taken never gets the other call's answer", async () => {
    const store = createMemoryStore();
    const slow = async (input: object) => {
      await sleep(50);
      return input;
    };
    const [one, two] = [await engineWith(slow, { store }), await engineWith(slow, { store })];
    const [, other] = await Promise.all([
      one.engine.call({
        tool: "t",
        input: { secret: "of A" },
        caller: { tenant: "A", agent: "a" },
        callId: "x",
      }),
      two.engine.call({ tool: "t", input: {}, caller: { tenant: "B", agent: "b" }, callId: "x" }),
    ]);
    expect(JSON.stringify(other)).not.toContain("of A");
  });

  it.each([
    ["no policy version", { ...ALLOW, policyVersion: undefined }],
    ["a reason that is not well-formed", { ...ALLOW, reason: "\ud800" }],
    ["rules that are no names", { ...ALLOW, rules: [{ b: 1, a: 2 }] }],
  ])("an authority's answer with %s does not spoil the chain", async (_, decision) => {
    const authority = { decide: () => decision as unknown as Decision };
    const { engine, store } = await engineWith(() => ({}), { authority });
    await engine.call({ tool: "t", input: {}, caller: acme });
    expect(await findings(store, "acme")).toEqual([]);
  });

  it("a runner that says nothing of its usage does not make a call reject", async () => {
    const inline = {
      kind: "inline",
      isolation: { level: "LEVEL_0", runner: "x" },
      run: async () => ({ ok: true, output: {} }),
      close: async () => undefined,
    } as unknown as Runner;
    const { engine } = await engineWith(() => ({}), { runners: [inline] });
    await expect(engine.call({ tool: "t", input: {}, caller: acme })).resolves.toBeDefined();
  });

  it("callers that share a key do not share the answer's objects", async () => {
    const slow = async () => {
      await sleep(20);
      return { list: [1] };
    };
    const { engine } = await engineWith(slow, { effects: "external" });
    const request = { tool: "t", input: {}, caller: acme, idempotencyKey: "k" };
    const [first, second] = await Promise.all([engine.call(request), engine.call(request)]);
    if (first.status === "success") Object.assign(first.result as object, { list: "changed" });
    expect(second).toMatchObject({ result: { list: [1] } });
  });

  it("a tenant cannot take the places of another whose name reads alike", async () => {
    const slow = async () => {
      await sleep(3_000);
      return {};
    };
    const { engine } = await engineWith(slow, { admission: { perAgent: 1, maxWaitMs: 1_000 } });
    const first = engine.call({ tool: "t", input: {}, caller: { tenant: "a/b", agent: "c" } });
    const second = await engine.call({ tool: "t", input: {}, caller: { tenant: "a", agent: "b/c" } });
    await first;
    expect(second.status).toBe("success");
  });

  it("a call that a hook kept from running neither spends its key nor warns of effects", async () => {
    let closed = true;
    const hook = {
      name: "gate",
      before() {
        if (closed) throw new Error("not now");
      },
    };
    const { engine } = await engineWith(() => ({}), { hooks: [hook], effects: "external" });
    const request = { tool: "t", input: {}, caller: acme, idempotencyKey: "k" };
    expect((await engine.call(request)).warnings).toEqual([]);
    closed = false;
    expect((await engine.call(request)).status).toBe("success");
  });
});

function moduleText(prelude: string): string {
  return `import { defineTool } from ${JSON.stringify(TOOL_ENTRY)};
${prelude}
const ANY = ${JSON.stringify(ANY)};
export const x = defineTool({ id: "x", version: "1.0.0", description: "Echo.", sideEffects: "none",
  input: ANY, output: ANY, run: (input) => input });`;
}

function shellWithModule(prelude: string): Shell {
  const shell = new Shell("tools: [./x.ts]\ngrants: [{ id: g, tools: ['*'] }]\n");
  writeFileSync(shell.path("x.ts"), moduleText(prelude));
  return shell;
}

describe("hostile use of the command line", () => {
  it("a module that ends the process is no success", async () => {
    using shell = shellWithModule("process.exit(0);");
    expect((await shell.runAlone(["call", "x", "--json"])).code).not.toBe(0);
  });

  it("what a module prints while it loads stays out of the JSON document", async () => {
    using shell = shellWithModule("console.log('loading');");
    const { stdout } = await shell.runAlone(["call", "x", "--json"]);
    expect(stdout.trimStart()[0]).toBe("{");
  });

  it("a timer a module leaves behind does not keep the command alive", async () => {
    using shell = shellWithModule("setInterval(() => {}, 1_000);");
    const { child, done } = shell.start(["call", "x", "--json"]);
    const ended = await Promise.race([done.then(() => true), sleep(60_000, false)]);
    child.kill("SIGKILL");
    await done;
    expect(ended).toBe(true);
  });

  it.each([
    ["an unknown alias", "tools: [*nowhere]\n"],
    ["an alias bomb", aliasBomb()],
  ])("a configuration with %s is a wrong configuration, not a defect", async (_, config) => {
    using shell = new Shell(config);
    const { stdout, code } = await shell.run(["tools", "list", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "E3919" } });
    expect(code).toBe(2);
  });

  it("audit verify prints no control characters of a tenant's name", async () => {
    using shell = new Shell();
    const forged = "zz\u001b[2K\r✓ all: intact\n✓ more";
    await shell.run(["call", "calculator", "--operation", "add", '{"a":1,"b":2}', "--tenant", forged]);
    const { stdout } = await shell.run(["audit", "verify"]);
    expect(stdout).not.toContain("\u001b");
    expect(stdout.trimEnd().split("\n")).toHaveLength(2);
  });

  it("audit verify notices that a chain's head is gone", async () => {
    using shell = new Shell();
    await shell.run(["call", "calculator", "--operation", "add", '{"a":1,"b":2}']);
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
    const database = new DatabaseSync(join(shell.folder, ".sallyport", "sallyport.db"));
    database.exec("DELETE FROM audit_heads");
    database.close();
    expect((await shell.run(["audit", "verify"])).code).toBe(1);
  });

  it("a start that was cut off before the first table leaves nothing a reader stumbles over", async () => {
    using shell = new Shell("state: .\n");
    writeFileSync(shell.path("sallyport.db"), "");
    expect((await shell.run(["calls", "list"])).code).toBe(0);
  });
});

/** Nine anchors, each ten times the one before. */
function aliasBomb(): string {
  const lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"];
  for (const [index, name] of [..."bcdefghi"].entries()) {
    const before = "abcdefgh"[index];
    lines.push(`${name}: &${name} [${Array(10).fill(`*${before}`).join(", ")}]`);
  }
  return lines.join("\n");
}
