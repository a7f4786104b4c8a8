import { describe, expect, it } from "vitest";
import { APPROVAL_CURSORS, CALL_CURSORS } from "./cursors.ts";
import { agent, OPERATOR, refused } from "./fixtures/ask.ts";
import { SUM } from "./fixtures/door.ts";
import { opening } from "./fixtures/opening.ts";

const open = opening();

const NO_CURSOR = {
  code: "E3903",
  issues: [{ path: "query/cursor", reason: "is not a cursor that this list gave" }],
};
const PLACE = { at: 1_767_225_600_000.25, id: `${"x".repeat(128)}~0123456789abcdef` };
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("a cursor", () => {
  it("is a place in its list, short enough for an address", () => {
    for (const cursors of [CALL_CURSORS, APPROVAL_CURSORS]) {
      expect(cursors.read(cursors.encode(PLACE))).toEqual(PLACE);
      expect(cursors.encode(PLACE).length).toBeLessThan(256);
    }
  });

  it.each([
    ["an id", PLACE.id.slice(0, 20)],
    ["of another list", APPROVAL_CURSORS.encode(PLACE)],
    ["with something behind it", `${CALL_CURSORS.encode(PLACE)}.`],
    ["without a time", encoded(["calls", "1", "x"])],
    ["with a time that is none", encoded(["calls", null, "x"])],
    ["with more in it", encoded(["calls", 1, "x", "y"])],
    ["no list at all", encoded(null)],
  ])("is refused when it is %s", async (_what, cursor) => {
    const door = await open();
    const asked = door.ask("listInvocations", { query: { cursor }, principal: OPERATOR });
    expect(await refused(asked)).toMatchObject(NO_CURSOR);
  });

  it("of approvals is refused as well", async () => {
    const door = await open();
    const cursor = CALL_CURSORS.encode(PLACE);
    const asked = door.ask("listApprovals", { query: { cursor }, principal: OPERATOR });
    expect(await refused(asked)).toMatchObject(NO_CURSOR);
  });

  it("that an agent makes up shows it no other agent's calls", async () => {
    const door = await open([SUM], { parts: { callers: "token" } });
    const body = {
      tool_id: "sum",
      parameters: { a: 1, b: 1 },
      agent_context: { agent_did: "eve", tenant_id: "acme" },
    };
    await door.ask("invokeTool", { body, principal: agent("eve") });
    const query = { cursor: CALL_CURSORS.encode({ at: 1e15, id: "z" }) };
    const { json } = await door.ask("listInvocations", { query, principal: agent("bob") });
    expect(json.invocations).toEqual([]);
  });
});
