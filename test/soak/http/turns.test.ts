import { fileURLToPath } from "node:url";
import type { Priority } from "@sallyport/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { Peaks } from "./gauge-tools.ts";
import { ServerFolder } from "./server-folder.ts";
import { Talk, type Wish } from "./talk.ts";

const TOOLS = fileURLToPath(new URL("./gauge-tools.ts", import.meta.url));
/** Long enough that nobody is turned away for waiting on a busy machine. */
const config = (concurrentCalls: number) => `
durability: process
tools: [{ module: ${TOOLS}, runner: inline }]
grants: [{ id: everything, tools: [wide, narrow, gauge] }]
limits: { concurrentCalls: ${concurrentCalls}, queueWaitSeconds: 600 }
toolLimits: [{ tools: [nar*], concurrentCalls: 2 }]
`;

interface Gauged {
  peaks: Peaks;
  order: string[];
}

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]();
});

async function openRuntime(concurrentCalls: number) {
  const server = await ServerFolder.make(config(concurrentCalls));
  const talk = new Talk(server);
  open.push({
    [Symbol.asyncDispose]: async () => {
      talk[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  });
  return { server, talk, life: await server.start() };
}

async function gauge(talk: Talk): Promise<Gauged> {
  const { body } = await talk.invoke({ tool: "gauge", agent: "observer" });
  return body.result as Gauged & object;
}

/** Reached, so that the limit was put to the test, and not exceeded. */
const LIMITS = { all: 12, "tool narrow": 2, "agent a": 4, "agent b": 4, "agent c": 4, "agent d": 4 };

describe("how many calls run at once", () => {
  it("is never more than the limits of the server, of an agent and of a tool, also after a kill [L3-EXE-4]", async () => {
    const { server, talk, life } = await openRuntime(12);
    const wishes = Array.from({ length: 400 }, (_, index): Wish => {
      const tool = index % 7 === 0 ? "narrow" : "wide";
      return { tool, agent: "abcd"[index % 4] ?? "a", input: { ms: 5 + (index % 20) } };
    });
    const isSync = (index: number) => index % 3 === 0;
    const accepted = await Promise.all(
      wishes.map(async (wish, index) => {
        if (!isSync(index)) return await talk.accept(wish);
        const { body } = await talk.invoke(wish);
        expect(body.status).toBe("success");
        return body.invocation_id;
      }),
    );
    for (const id of accepted) expect(await talk.untilEnded(id)).toMatchObject({ status: "success" });
    const { "tool wide": _all, ...before } = (await gauge(talk)).peaks;
    expect(before).toEqual(LIMITS);
    const left = await Promise.all(wishes.map((wish) => talk.accept(wish)));
    await life.kill();
    await server.start();
    for (const id of left) expect(await talk.untilEnded(id)).toHaveProperty("completed_at");
    const after = (await gauge(talk)).peaks;
    // Nobody waits for these calls: a part of the server is kept free for callers who do.
    expect(after).toMatchObject({ all: 9, "tool narrow": 2 });
    for (const agent of "abcd") expect(after[`agent ${agent}`]).toBeLessThanOrEqual(4);
  });
});

describe("a call of low priority", () => {
  const call = (name: string, priority: Priority, agent: string): Wish => ({
    tool: "wide",
    agent,
    input: { ms: 40, name },
    options: { priority },
  });

  it("lets those go first that are more urgent and came with it [L3-EXE-4]", async () => {
    const { server, talk } = await openRuntime(1);
    const first = await talk.accept({ tool: "wide", agent: "z", input: { ms: 1, until: server.gate } });
    await expect.poll(async () => (await talk.status(first))?.status).toBe("running");
    // All at once: who comes two seconds later no longer goes first, and a busy machine takes its time for each.
    const wishes = (["low", "normal", "high"] as const).flatMap((priority) =>
      ["agent-1", "agent-2"].map((agent) => call(priority, priority, agent)),
    );
    const ids = await Promise.all(wishes.map((wish) => talk.accept(wish)));
    server.openGate();
    for (const id of ids) await talk.untilEnded(id);
    const { order } = await gauge(talk);
    expect(order).toEqual(["high", "high", "normal", "normal", "low", "low"]);
  });

  it.each([
    ["accepted", "another agent's", "b", true],
    ["accepted", "its own agent's", "a", true],
    ["waited for", "another agent's", "b", false],
    ["waited for", "its own agent's", "a", false],
  ] as const)(
    "that is %s gets its turn in a stream of %s urgent ones that never ends [L3-EXE-4]",
    async (_, __, agent, isAsync) => {
      const { talk } = await openRuntime(4);
      let isOver = false;
      let urgent = 0;
      const stream = Array.from({ length: 24 }, async (_, lane) => {
        const wish = call("", "high", "a");
        while (!isOver) {
          if (lane % 2 === 0) await talk.invoke(wish);
          else await talk.untilEnded(await talk.accept(wish));
          urgent += 1;
        }
      });
      await expect.poll(() => urgent, { timeout: 60_000 }).toBeGreaterThan(24);
      const before = urgent;
      const begunAt = performance.now();
      const low = call("low", "low", agent);
      if (isAsync) await talk.untilEnded(await talk.accept(low));
      else expect((await talk.invoke(low)).body.status).toBe("success");
      const took = performance.now() - begunAt;
      const overtakers = urgent - before;
      isOver = true;
      await Promise.all(stream);
      // An urgent call that comes two seconds later no longer goes first; those before it are few.
      expect(took).toBeLessThan(60_000);
      expect(overtakers).toBeGreaterThan(2);
    },
  );
});
