import type { CallRequest } from "@sallyport/engine";
import { describe, expect, it } from "vitest";
import { agent, OPERATOR, refusal } from "./fixtures/ask.ts";
import { type FixtureTool, plainEngine, SUM } from "./fixtures/door.ts";
import { gatedTool } from "./fixtures/gated-tool.ts";
import { opening } from "./fixtures/opening.ts";

const open = opening();

/** Remembers what the engine is asked for. */
function noted(seen: CallRequest[], request: CallRequest): CallRequest {
  seen.push(request);
  return request;
}

const CALL = { tool_id: "sum", parameters: { a: 2, b: 3 } };

describe("an idempotency key", () => {
  it("in the header or the body runs the same request once [L3-API-1]", async () => {
    let runs = 0;
    const counting: FixtureTool = {
      id: "counting",
      run: () => {
        runs += 1;
        return runs;
      },
    };
    const { ask } = await open([counting]);
    const body = { tool_id: "counting", parameters: {} };
    const first = await ask("invokeTool", { body, headers: { "idempotency-key": '"k-1"' } });
    const again = await ask("invokeTool", {
      body: { ...body, execution_options: { idempotency_key: "k-1" } },
    });
    expect([first.json.result, again.json.result, runs]).toEqual([1, 1, 1]);
    expect(again.json.invocation_id).toBe(first.json.invocation_id);
    expect(again.headers).toMatchObject({ "idempotent-replayed": "true" });
    const other = await ask("invokeTool", {
      body: { ...body, parameters: { x: 1 } },
      headers: { "idempotency-key": "k-1" },
    });
    expect([other.status, other.json.error]).toMatchObject([409, { code: "idempotency_conflict" }]);
  });

  it("is refused when header and body differ, or it is empty or too long", async () => {
    const { ask } = await open();
    const body = { ...CALL, execution_options: { idempotency_key: "a" } };
    for (const key of ["b", "", '""', "k".repeat(256)]) {
      expect(await refusal(ask("invokeTool", { body, headers: { "idempotency-key": key } }))).toBe("E3903");
    }
  });

  it("lets a call go on whose client went away; without one it is cancelled", async () => {
    const tool = gatedTool();
    const { ask } = await open([tool]);
    const client = new AbortController();
    const body = { tool_id: "gated", parameters: {} };
    const kept = ask("invokeTool", { body, signal: client.signal, headers: { "idempotency-key": "k" } });
    await tool.begun;
    client.abort();
    tool.finish();
    expect((await kept).json.status).toBe("success");

    const other = gatedTool();
    const second = await open([other]);
    const leaving = new AbortController();
    const dropped = second.ask("invokeTool", { body, signal: leaving.signal });
    await other.begun;
    leaving.abort();
    expect((await dropped).json.status).toBe("cancelled");
  });
});

describe("who calls", () => {
  it("is who the request says at an open door, else whom the door serves", async () => {
    const { ask, store } = await open();
    await ask("invokeTool", { body: CALL });
    const agent_context = { tenant_id: "acme", agent_did: "did:agent:7", user_did: "ann", session_id: "s" };
    await ask("invokeTool", { body: { ...CALL, agent_context } });
    const calls = await store.calls.list({ limit: 10 });
    expect(calls.map(({ tenant, agent: name, user }) => [tenant, name, user])).toEqual([
      ["acme", "did:agent:7", "ann"],
      ["local", "http", undefined],
    ]);
  });

  it("is who the token names, and the token goes along to be compared", async () => {
    const seen: CallRequest[] = [];
    const { ask, parts } = await open();
    const plain = plainEngine(parts);
    parts.engine = { ...plain, call: (request) => plain.call(noted(seen, request)) };
    await ask("invokeTool", { body: CALL, principal: agent("bob") });
    expect(seen).toMatchObject([{ caller: { tenant: "acme", agent: "bob" }, token: "token-of-bob" }]);
    expect(seen[0]).not.toHaveProperty("disclosure");
    const context = { tenant_id: "acme", agent_did: "eve" };
    await ask("invokeTool", { body: { ...CALL, agent_context: context }, principal: agent("bob") });
    expect(seen[1]).toMatchObject({ caller: { agent: "eve" }, token: "token-of-bob" });
  });

  it("has to show a token where the door asks for one", async () => {
    const { ask } = await open([SUM], { parts: { callers: "token" } });
    expect(await refusal(ask("invokeTool", { body: CALL }))).toBe("E3938");
    expect((await ask("invokeTool", { body: CALL, principal: OPERATOR })).status).toBe(200);
  });

  it("is refused when it shows two different tokens, or a token without a name", async () => {
    const { ask } = await open();
    const body = { ...CALL, capability_token: "another" };
    expect(await refusal(ask("invokeTool", { body, principal: agent("bob") }))).toBe("E3903");
    expect(await refusal(ask("invokeTool", { body }))).toBe("E3903");
  });

  it("tells the door its token from the body", async () => {
    const { routes } = await open();
    const route = routes.find(({ id }) => id === "invokeTool");
    expect(route?.tokenInBody?.({ ...CALL, capability_token: "t" })).toBe("t");
    expect(route?.tokenInBody?.(CALL)).toBeUndefined();
  });
});

describe("trace context", () => {
  const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  it("is passed on as the door hands it over", async () => {
    const seen: CallRequest[] = [];
    const { ask, parts } = await open();
    const plain = plainEngine(parts);
    parts.engine = { ...plain, call: (request) => plain.call(noted(seen, request)) };
    await ask("invokeTool", { body: CALL, headers: { traceparent: TRACE, tracestate: "a=b" } });
    await ask("invokeTool", { body: CALL });
    const traces = seen.map(({ trace }) => trace);
    expect(traces).toEqual([{ traceparent: TRACE, tracestate: "a=b" }, undefined]);
  });
});
