import { grantAuthority } from "@sallyport/engine";
import { tenantId } from "@sallyport/engine/host";
import type { Authority } from "@sallyport/engine/ports";
import { describe, expect, it } from "vitest";
import { agent, OPERATOR, refusal } from "./fixtures/ask.ts";
import { GRANTS, SUM } from "./fixtures/door.ts";
import { opening } from "./fixtures/opening.ts";

const open = opening();
const ID = "0198c0de-0000-7000-8000-000000000001";
const rules = grantAuthority(GRANTS);
/** The fixture's agents have shown their tokens already. */
const authority: Authority = { decide: ({ token: _shown, ...request }) => rules.decide(request) };

const AGENTS = [agent("bob", "acme"), agent("bob", "other")] as const;

describe("an invocation_id that two tenants use", () => {
  it("names each one's own call, and no answer tells of the other's", async () => {
    const door = await open([SUM], { engine: { authority }, parts: { callers: "token" } });
    const texts: string[] = [];
    for (const [a, principal] of AGENTS.entries()) {
      const ask = async (id: string, sent: object) => {
        const { json, headers = {} } = await door.ask(id, { principal, ...sent });
        texts.push(JSON.stringify([json, headers]));
        return json;
      };
      const body = { tool_id: "sum", invocation_id: ID, parameters: { a, b: 1 } };
      const params = { invocation_id: ID };
      const answer = { invocation_id: ID, result: { sum: a + 1 } };
      expect(await ask("invokeTool", { body })).toMatchObject(answer);
      expect(await ask("getInvocation", { params })).toMatchObject({ invocation_id: ID });
      expect(await ask("getInvocationResult", { params })).toMatchObject(answer);
      expect(await ask("cancelInvocation", { params })).toMatchObject({
        invocation_id: ID,
        cancelled: false,
      });
      expect(
        await ask("invokeTool", { body: { ...body, execution_options: { require_approval: true } } }).catch(
          (error: Error) => error.message,
        ),
      ).toMatchObject({ error: { details: { code: "E3905" } } });
      const second = {
        ...body,
        invocation_id: ID.replace(/1$/, "2"),
        execution_options: { require_approval: true },
      };
      expect(await ask("invokeTool", { body: second })).toMatchObject({ status: "pending_approval" });
      const page = await ask("listInvocations", { query: { limit: "1" } });
      const next = await ask("listInvocations", { query: { limit: "1", cursor: String(page.next_cursor) } });
      expect([page, next]).toMatchObject([
        { invocations: [{ invocation_id: second.invocation_id }] },
        { invocations: [{ invocation_id: ID }] },
      ]);
    }
    expect(texts.join("\n")).not.toMatch(/~[0-9a-f]{8}/);
    // Operators tell them apart.
    const all = (await door.ask("listInvocations", { principal: OPERATOR })).json.invocations;
    const ids = (all as { invocation_id: string }[]).map(({ invocation_id }) => invocation_id);
    expect(new Set(ids).size).toBe(4);
    for (const invocation_id of ids)
      await door.ask("getInvocation", { principal: OPERATOR, params: { invocation_id } });
    expect(
      await refusal(
        door.ask("getInvocation", { principal: agent("eve", "third"), params: { invocation_id: ID } }),
      ),
    ).toBe("E3917");
  });

  it("cannot be asked for by the second id, which would tell that another tenant has the first", async () => {
    const door = await open([SUM], { engine: { authority }, parts: { callers: "token" } });
    const body = { tool_id: "sum", invocation_id: ID, parameters: { a: 1, b: 1 } };
    for (const principal of AGENTS) await door.ask("invokeTool", { principal, body });
    const second = tenantId(ID, "other");
    const [, principal] = AGENTS;
    for (const id of ["getInvocation", "getInvocationResult", "watchInvocation", "cancelInvocation"]) {
      expect(await refusal(door.ask(id, { principal, params: { invocation_id: second } }))).toBe("E3917");
    }
    expect(await refusal(door.ask("listInvocations", { principal, query: { cursor: second } }))).toBe(
      "E3903",
    );
  });
});
