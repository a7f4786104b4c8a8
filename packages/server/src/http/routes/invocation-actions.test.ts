import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStore } from "@sallyport/engine";
import { FaultPlan, withFaults } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { agent, OPERATOR, refused } from "./fixtures/ask.ts";
import { type FixtureDoor, SUM } from "./fixtures/door.ts";
import { opening } from "./fixtures/opening.ts";

const open = opening();

const BOB = { agent_did: "bob", tenant_id: "acme" };

async function made(door: FixtureDoor): Promise<string> {
  const body = { tool_id: "sum", parameters: { a: 1, b: 1 }, agent_context: BOB };
  return String((await door.ask("invokeTool", { body, principal: agent("bob") })).json.invocation_id);
}

describe("the body of a cancellation", () => {
  it("may be the whole of tool.cancel [L3-API-2]", async () => {
    const door = await open([SUM], { parts: { callers: "token" } });
    const invocation_id = await made(door);
    const body = { invocation_id, agent_context: { ...BOB, session_id: "s-1" }, reason: "not needed" };
    const sent = { params: { invocation_id }, body, principal: agent("bob") };
    expect((await door.ask("cancelInvocation", sent)).json).toMatchObject({
      invocation_id,
      cancelled: false,
    });
  });

  it.each([
    ["/invocation_id", { invocation_id: "another" }],
    ["/agent_context/agent_did", { agent_context: { ...BOB, agent_did: "eve" } }],
    ["/agent_context/tenant_id", { agent_context: { ...BOB, tenant_id: "other" } }],
  ])("is refused when %s is not what the path or the token says [L3-API-2]", async (path, body) => {
    const door = await open([SUM], { parts: { callers: "token" } });
    const invocation_id = await made(door);
    const sent = { params: { invocation_id }, body, principal: agent("bob") };
    expect(await refused(door.ask("cancelInvocation", sent))).toMatchObject({
      code: "E3903",
      issues: [{ path }],
    });
  });

  it("may name any agent where nobody shows a token [L3-API-2]", async () => {
    const door = await open();
    const body = { tool_id: "sum", parameters: { a: 1, b: 1 } };
    const invocation_id = String((await door.ask("invokeTool", { body })).json.invocation_id);
    const cancelled = await door.ask("cancelInvocation", {
      params: { invocation_id },
      body: { agent_context: BOB },
    });
    expect(cancelled.status).toBe(200);
  });
});

describe("a cancellation that meets an approval", () => {
  it("says cancelled only of a call that ends so, whenever it comes [L3-API-2]", async () => {
    const slow = new FaultPlan([{ method: "*", when: "before", action: { kind: "slow", ms: 1 } }]);
    const store = withFaults(createMemoryStore(), slow);
    const tool = { ...SUM, run: async () => await sleep(2, { sum: 2 }) };
    const door = await open([tool], { engine: { store }, parts: { calls: store.calls, audit: store.audit } });
    const met = async ({ approveMs = 0, cancelMs = 0 }) => {
      const body = {
        tool_id: "sum",
        parameters: { a: 1, b: 1 },
        execution_options: { require_approval: true },
      };
      const params = { invocation_id: String((await door.ask("invokeTool", { body })).json.invocation_id) };
      const status = async () => (await door.ask("getInvocation", { params })).json;
      const { approval_id } = await status();
      const approve = { params: { approval_id: String(approval_id) }, principal: OPERATOR, body: {} };
      const approving = sleep(approveMs).then(() => door.ask("approve", approve).catch(() => undefined));
      await sleep(cancelMs);
      const { json } = await door.ask("cancelInvocation", { params });
      await approving;
      while (["pending_approval", "pending", "running"].includes(String((await status()).status)))
        await sleep(5);
      return { cancelled: json.cancelled, status: (await status()).status };
    };
    const ends: Awaited<ReturnType<typeof met>>[] = [];
    for (let late = 0; late < 12; late += 1) ends.push(await met({ approveMs: late }));
    for (let late = 4; late < 100; late += 8) ends.push(await met({ cancelMs: late }));
    const untrue = ends.filter(({ cancelled, status }) => status !== (cancelled ? "cancelled" : "success"));
    expect(untrue).toEqual([]);
    expect(ends.some(({ cancelled }) => cancelled === true)).toBe(true);
  });
});
