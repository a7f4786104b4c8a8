import { describe, expect, it } from "vitest";
import { agent, refused } from "./fixtures/ask.ts";
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
