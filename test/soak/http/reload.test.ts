import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ServerFolder } from "./server-folder.ts";
import { Talk, type Wish } from "./talk.ts";

const TOOL_MODULE = import.meta.resolve("@sallyport/engine/tool");

/** A tool that waits for a while, or for a file, and then says which code it is. */
function waiter(says: string): string {
  return `
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from ${JSON.stringify(TOOL_MODULE)};
const ANY = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
export const waiter = defineTool({
  id: "waiter", version: "1.0.0", description: "Waits.", sideEffects: "none", input: ANY, output: ANY,
  limits: { timeoutMs: 120_000 },
  run: async ({ ms, until }, { signal, progress }) => {
    progress(0, "begun");
    await sleep(ms, undefined, { signal });
    while (until && !existsSync(until)) await sleep(20, undefined, { signal });
    return { says: ${JSON.stringify(says)} };
  },
});
`;
}

interface Settings {
  agents?: string[];
  perAgent?: number;
  rules?: boolean;
  more?: string;
}

function config({ agents = ["*"], perAgent = 4, rules = false, more = "" }: Settings = {}): string {
  return `tools: [./waiter.mts]
grants: [{ id: all, tools: [waiter], agents: ${JSON.stringify(agents)} }]
limits: { concurrentCallsPerAgent: ${perAgent} }
${rules ? "policy: { files: [rules.yaml] }" : ""}
${more}`;
}

const DENY = `version: 1
default: allow
rules:
  - id: not-b
    effect: deny
    reason: Not today.
    match: { agents: [b] }
    examples: { match: [{ tool: waiter, agent: b }], not: [{ tool: waiter, agent: a }] }
`;

async function open(settings?: Settings) {
  const server = await ServerFolder.make(config(settings));
  server.write("waiter.mts", waiter("old"));
  const life = await server.start();
  const talk = new Talk(server);
  /** Asks for a reload and waits until the log says what came of it. */
  const reload = async () => {
    const from = life.log.length;
    life.send("SIGHUP");
    return await life.logged(/was reloaded|stays/, from);
  };
  const code = async (wish: Wish) => {
    const { body } = await talk.invoke(wish);
    return body.error?.details.code ?? body.result;
  };
  const close = async () => {
    talk[Symbol.dispose]();
    await server[Symbol.asyncDispose]();
  };
  return { server, life, talk, reload, code, [Symbol.asyncDispose]: close };
}

const wait = (ms: number, agent = "a"): Wish => ({ tool: "waiter", input: { ms }, agent });
/** Runs until the server's gate is opened. */
const held = (server: ServerFolder, agent = "a"): Wish => ({
  tool: "waiter",
  input: { ms: 1, until: server.gate },
  agent,
});

describe("a server that gets SIGHUP while calls run", () => {
  it("runs what it has begun as it was begun, and everything else by the new rules [L3P2-6]", async () => {
    await using at = await open();
    const { talk, server } = at;
    const running = talk.begin(held(server));
    const byB = talk.begin(held(server, "b"));
    await Promise.all([running.id, byB.id].map((id) => talk.untilRunning(id)));
    server.write("waiter.mts", waiter("new"));
    server.write("rules.yaml", DENY);
    server.configure(config({ rules: true, perAgent: 1 }));
    expect(await at.reload()).toMatchObject({
      level: "info",
      context: {
        applied: expect.arrayContaining(["limits.concurrentCallsPerAgent", "policy.files"]),
        tools: { changed: ["waiter@1.0.0"] },
      },
    });
    expect(await at.code(wait(1, "c"))).toEqual({ says: "new" });
    expect(await at.code(wait(1, "b"))).toMatch(/^E32/);
    server.openGate();
    expect((await running.answer).body).toMatchObject({ status: "success", result: { says: "old" } });
    expect((await byB.answer).body).toMatchObject({ status: "success", result: { says: "old" } });
  });

  it("holds queued calls to the new limits and rules, and ends on record what they no longer allow [L3-EXE-4]", async () => {
    await using at = await open({ perAgent: 1 });
    const { talk, server } = at;
    const running = await talk.accept(held(server));
    await talk.untilRunning(running);
    const queued = await Promise.all([1, 2].map(() => talk.accept(wait(1))));
    server.configure(config({ agents: ["c"], perAgent: 1 }));
    await at.reload();
    server.openGate();
    expect(await talk.untilEnded(running)).toMatchObject({ status: "success" });
    for (const id of queued) {
      expect(await talk.untilEnded(id)).toMatchObject({
        status: "permission_denied",
        error: { details: { code: "E3209" } },
      });
    }
  });

  it("gives room at once that new limits make, and takes it without sending anybody away", async () => {
    await using at = await open({ perAgent: 1 });
    const { talk, server } = at;
    const ids = await Promise.all([1, 2, 3].map(() => talk.accept(wait(100_000))));
    const states = async () =>
      (await Promise.all(ids.map((id) => talk.status(id)))).map((each) => each?.status);
    await expect.poll(async () => (await states()).toSorted()).toEqual(["pending", "pending", "running"]);
    server.configure(config({ perAgent: 4 }));
    await at.reload();
    await expect.poll(states).toEqual(["running", "running", "running"]);
    server.configure(config({ perAgent: 1 }));
    await at.reload();
    const more = await talk.accept(wait(1));
    await sleep(300);
    expect(await states()).toEqual(["running", "running", "running"]);
    expect(await talk.status(more)).toMatchObject({ status: "pending" });
  });

  it.each([
    [
      "an unknown key",
      (text: string) => `${text}\nhtpp: {}\n`,
      /sallyport\.yaml:\d+:1 unknown key.*did you mean/,
    ],
    [
      "a value that is none",
      () => config({ more: "http: { shutdownSeconds: soon }" }),
      /sallyport\.yaml:5:\d+/,
    ],
    ["something that is no YAML", (text: string) => `${text}\n  : [`, /sallyport\.yaml:\d+:\d+/],
    ["a tool that cannot be loaded", (text: string) => text.replace("waiter.mts", "none.mts"), /none\.mts/],
  ])("keeps what was in force when the file has %s, and says where", async (_, change, place) => {
    await using at = await open();
    const { talk, server } = at;
    const running = talk.begin(held(server));
    await talk.untilRunning(running.id);
    server.configure(change(readFileSync(server.path("sallyport.yaml"), "utf8")));
    const line = await at.reload();
    expect(line).toMatchObject({
      level: "warn",
      message: expect.stringContaining("What was in force stays"),
    });
    expect(JSON.stringify(line)).toMatch(place);
    server.openGate();
    expect((await running.answer).body).toMatchObject({ status: "success" });
    expect(await at.code(wait(1))).toEqual({ says: "old" });
  });

  it("keeps the rules in force when a rules file is wrong, and says where", async () => {
    await using at = await open();
    const { server } = at;
    server.write(
      "rules.yaml",
      DENY.replace("match: [{ tool: waiter, agent: b }]", "match: [{ tool: waiter, agent: a }]"),
    );
    server.configure(config({ rules: true }));
    const line = await at.reload();
    expect(line).toMatchObject({ level: "warn" });
    expect(JSON.stringify(line)).toMatch(/rules\.yaml:\d+/);
    expect([await at.code(wait(1)), await at.code(wait(1, "b"))]).toEqual([{ says: "old" }, { says: "old" }]);
    server.write("rules.yaml", DENY);
    expect(await at.reload()).toMatchObject({ level: "info", context: { applied: ["policy.files"] } });
    expect(await at.code(wait(1, "b"))).toMatch(/^E32/);
  });

  it("stands a storm of them, also while it stops", async () => {
    await using at = await open();
    const { talk, server, life } = at;
    const answers: unknown[] = [];
    let isOver = false;
    const callers = ["a", "b", "c", "d"].map(async (agent) => {
      while (!isOver) answers.push(await at.code(wait(20, agent)));
    });
    for (let turn = 0; turn < 20; turn += 1) {
      server.write("waiter.mts", waiter(`turn ${turn}`));
      server.configure(config({ perAgent: 1 + (turn % 4) }));
      life.send("SIGHUP");
      await sleep(50);
    }
    await expect.poll(() => at.code(wait(1, "e")), { timeout: 90_000 }).toEqual({ says: "turn 19" });
    isOver = true;
    await Promise.all(callers);
    expect(answers.filter((answer) => typeof answer === "string")).toEqual([]);
    const last = talk.begin(held(server));
    await talk.untilRunning(last.id);
    life.send("SIGTERM");
    for (let turn = 0; turn < 5; turn += 1) life.send("SIGHUP");
    server.openGate();
    expect((await last.answer).body).toMatchObject({ status: "success" });
    expect(await life.gone).toMatchObject({ code: 0, signal: null });
    expect(life.log.filter(({ level }) => level === "error")).toEqual([]);
  });
});
