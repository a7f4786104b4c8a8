import { failure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { OPERATOR, ORIGIN, refusal } from "./fixtures/ask.ts";
import { type FixtureTool, plainEngine, SUM } from "./fixtures/door.ts";
import { gatedTool } from "./fixtures/gated-tool.ts";
import { opening } from "./fixtures/opening.ts";

const open = opening();

const CALL = { tool_id: "sum", parameters: { a: 2, b: 3 } };

describe("POST /v1/tools/invoke", () => {
  it("runs a tool and answers with its result [L3-API-1]", async () => {
    const { ask } = await open();
    const { status, json, headers } = await ask("invokeTool", { body: CALL });
    expect(status).toBe(200);
    expect(json).toMatchObject({ status: "success", result: { sum: 5 } });
    expect(json.execution_metadata).toHaveProperty("completed_at");
    expect(headers).toBeUndefined();
  });

  it("answers a refused call as a call, with the catalogue's status [L3-API-1]", async () => {
    const { ask } = await open();
    const { status, json } = await ask("invokeTool", { body: { ...CALL, parameters: { a: 2 } } });
    expect(status).toBe(400);
    expect(json).toMatchObject({
      status: "error",
      error: { code: "invalid_parameters", details: { code: "E3901" }, retryable: false },
    });
    const missing = await ask("invokeTool", { body: { ...CALL, tool_id: "sun" } });
    expect([missing.status, missing.json.error]).toMatchObject([404, { code: "tool_not_found" }]);
  });

  it("refuses what is no call at all [L3-API-1]", async () => {
    const { ask } = await open();
    expect(await refusal(ask("invokeTool", { body: { tool_id: "sum" } }))).toBe("E3903");
    expect(await refusal(ask("invokeTool", { body: { ...CALL, tool: "x" } }))).toBe("E3903");
  });

  it("calls the operation that is asked for, and needs it said when there are several [L3-API-1]", async () => {
    const both: FixtureTool = { id: "both", operations: { one: () => 1, two: () => 2 } };
    const { ask } = await open([both]);
    const two = await ask("invokeTool", { body: { tool_id: "both", operation: "two", parameters: {} } });
    expect(two.json.result).toBe(2);
    const none = await ask("invokeTool", { body: { tool_id: "both", parameters: {} } });
    expect(none.json.error).toMatchObject({ details: { code: "E3010" } });
  });

  it("does not send away for later who asks for more than a tool may use [R1-5.1]", async () => {
    const { ask } = await open();
    const resource_limits = { timeout_seconds: 100_000_000 };
    const { status, headers, json } = await ask("invokeTool", { body: { ...CALL, resource_limits } });
    expect(json.error).toMatchObject({ details: { code: "E3102" }, retryable: false });
    expect([status, headers]).toEqual([422, undefined]);
  });

  it("answers 429 and 503 with when to try again", async () => {
    const { parts, ask } = await open();
    const { call } = plainEngine(parts);
    parts.engine = {
      ...plainEngine(parts),
      call: async (request) => {
        const { status: _status, ...answer } = await call({ ...request, tool: "none" });
        const error = failure("E3224", { details: { retryAfterMs: 2_100 } });
        return { ...answer, status: "error", error };
      },
    };
    expect(await ask("invokeTool", { body: CALL })).toMatchObject({
      status: 429,
      headers: { "retry-after": "3" },
    });
  });
});

describe("what the headers of an answer say", () => {
  it("is how to show a credential, when the call's token did not hold [L3-API-1]", async () => {
    const { parts, ask } = await open();
    const { call } = plainEngine(parts);
    parts.engine = {
      ...plainEngine(parts),
      call: async (request) => {
        const { status: _status, ...answer } = await call({ ...request, tool: "none" });
        return { ...answer, status: "permission_denied", error: failure("E3202") };
      },
    };
    expect(await ask("invokeTool", { body: CALL })).toMatchObject({
      status: 401,
      headers: { "www-authenticate": 'Bearer realm="sallyport", error="invalid_token"' },
    });
  });

  it("is that an accepted call was accepted before [L3-API-1] [L3-EXE-5]", async () => {
    const tool = gatedTool();
    const { ask } = await open([tool]);
    const sent = {
      body: { tool_id: "gated", parameters: {} },
      headers: { prefer: "respond-async", "idempotency-key": "k-1" },
    };
    const first = await ask("invokeTool", sent);
    // In the same millisecond, as far as the clock shows.
    const again = await ask("invokeTool", sent);
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.json.invocation_id).toBe(first.json.invocation_id);
    expect(first.headers).not.toHaveProperty("idempotent-replayed");
    expect(again.headers).toMatchObject({ "idempotent-replayed": "true" });
    await tool.begun;
    tool.finish();
  });

  it("is that a call waits for a person, which was asked for before [L3-API-1]", async () => {
    const { ask } = await open([{ id: "asks", manifest: { requiresApproval: true } }]);
    const sent = { body: { tool_id: "asks", parameters: {} }, headers: { "idempotency-key": "k-1" } };
    const [first, again] = [await ask("invokeTool", sent), await ask("invokeTool", sent)];
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(first.headers).not.toHaveProperty("idempotent-replayed");
    expect(again.headers).toMatchObject({ "idempotent-replayed": "true" });
  });
});

describe("async calls", () => {
  it.each([
    ["async_mode", { body: { ...CALL, execution_options: { async_mode: true } } }, undefined],
    ["Prefer", { body: CALL, headers: { prefer: "wait=1, Respond-Async;x=1" } }, "respond-async"],
  ])("by %s are accepted at once, and say where to ask [L3-EXE-5]", async (_by, sent, applied) => {
    const { ask, engine } = await open();
    const { status, json, headers } = await ask("invokeTool", sent);
    const id = String(json.invocation_id);
    const statusUrl = `${ORIGIN}/v1/invocations/${id}`;
    expect(status).toBe(202);
    expect(["pending", "running"]).toContain(json.status);
    expect(json.polling_info).toEqual({ status_url: statusUrl });
    expect(headers).toMatchObject({ location: statusUrl, "retry-after": "1" });
    expect(headers?.["preference-applied"]).toBe(applied);
    const feed = await engine.watch(id);
    while (feed && !feed.ended) await feed.next(feed.last, new AbortController().signal);
    const result = await ask("getInvocationResult", { params: { invocation_id: id } });
    expect(result).toMatchObject({ status: 200, json: { status: "success", result: { sum: 5 } } });
  });

  it("are what a call with a callback is, where somebody can be told [L3-EXE-5]", async () => {
    const refuseCallback = (url: string) => (url.includes("good") ? undefined : failure("E3204"));
    const { ask } = await open([SUM], { parts: { refuseCallback } });
    const to = (url: string) => ({ body: { ...CALL, execution_options: { callback_url: url } } });
    expect((await ask("invokeTool", to("https://good.example/"))).status).toBe(202);
    expect(await refusal(ask("invokeTool", to("https://bad.example/")))).toBe("E3204");
    const nobody = await open();
    expect(await refusal(nobody.ask("invokeTool", to("https://good.example/")))).toBe("E3903");
  });

  it("that may not run are answered at once, and go on when the client is gone [L3-EXE-5]", async () => {
    const { ask } = await open();
    const bad = { tool_id: "sum", parameters: {}, execution_options: { async_mode: true } };
    expect((await ask("invokeTool", { body: bad })).status).toBe(400);
    const gone = AbortSignal.abort();
    const body = { ...CALL, execution_options: { async_mode: true } };
    expect((await ask("invokeTool", { body, signal: gone })).status).toBe(202);
  });

  it("that need a person are told so, and go on by themselves once approved [L3-API-1] [L3-EXE-5]", async () => {
    const { ask } = await open();
    const body = { ...CALL, execution_options: { require_approval: true } };
    const { status, json, headers } = await ask("invokeTool", { body });
    expect([status, json.status]).toEqual([202, "pending_approval"]);
    expect(headers).toMatchObject({ location: `${ORIGIN}/v1/invocations/${json.invocation_id}` });
    const params = { invocation_id: String(json.invocation_id) };
    const standing = await ask("getInvocation", { params });
    expect(standing.json).toMatchObject({ status: "pending_approval", state: "WAITING" });
    const approval_id = String(standing.json.approval_id);
    await ask("approve", { params: { approval_id }, principal: OPERATOR });
    const state = async () => (await ask("getInvocation", { params })).json.state;
    await expect.poll(state).toBe("COMPLETED");
    expect((await ask("getInvocationResult", { params })).json.status).toBe("success");
  });
});
