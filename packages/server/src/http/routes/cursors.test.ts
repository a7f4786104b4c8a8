import { describe, expect, it } from "vitest";
import { checkApprovalCursor, readCallCursor } from "./cursors.ts";
import { agent, OPERATOR, refused } from "./fixtures/ask.ts";
import { type FixtureDoor, SUM } from "./fixtures/door.ts";
import { opening } from "./fixtures/opening.ts";

const open = opening();

const NO_CURSOR = {
  code: "E3903",
  issues: [{ path: "query/cursor", reason: "is not a cursor that this list gave" }],
};

async function made(door: FixtureDoor, agent_did: string): Promise<string> {
  const body = {
    tool_id: "sum",
    parameters: { a: 1, b: 1 },
    agent_context: { agent_did, tenant_id: "acme" },
  };
  return String((await door.ask("invokeTool", { body, principal: OPERATOR })).json.invocation_id);
}

describe("a cursor of calls", () => {
  it("is a call that the asker may see, and nothing else", async () => {
    const door = await open([SUM], { parts: { callers: "token" } });
    const [own, others] = [await made(door, "bob"), await made(door, "eve")];
    await readCallCursor(own, agent("bob"), door.parts);
    await readCallCursor(others, OPERATOR, door.parts);
    await readCallCursor(undefined, agent("bob"), door.parts);
    const wrong = [others, "zzz"].map((cursor) => refused(readCallCursor(cursor, agent("bob"), door.parts)));
    for (const refusal of await Promise.all(wrong)) expect(refusal).toMatchObject(NO_CURSOR);
  });
});

describe("a cursor of approvals", () => {
  it("is an approval there is; any other is refused by the list", async () => {
    const door = await open();
    const execution_options = { require_approval: true };
    await door.ask("invokeTool", {
      body: { tool_id: "sum", parameters: { a: 1, b: 1 }, execution_options },
    });
    const [approval] = await door.engine.approvals.list({ limit: 1 });
    await checkApprovalCursor(approval?.approvalId, door.parts);
    const list = (cursor: string) => door.ask("listApprovals", { query: { cursor }, principal: OPERATOR });
    expect((await list(approval?.approvalId ?? "")).json.approvals).toEqual([]);
    expect(await refused(list("zzz"))).toMatchObject(NO_CURSOR);
  });
});
