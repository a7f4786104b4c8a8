import type { CallRequest } from "@sallyport/engine";
import { failure } from "@sallyport/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { agent, OPERATOR, ORIGIN, refusal } from "./fixtures/ask.ts";
import { type FixtureDoor, type FixtureTool, fixtureDoor, plainEngine, SUM } from "./fixtures/door.ts";

const doors: FixtureDoor[] = [];
afterEach(async () => {
  for (const { engine } of doors.splice(0)) await engine.close();
});

async function open(...given: Parameters<typeof fixtureDoor>): Promise<FixtureDoor> {
  const door = await fixtureDoor(...given);
  doors.push(door);
  return door;
}

/** Remembers what the engine is asked for. */
function noted(seen: CallRequest[], request: CallRequest): CallRequest {
  seen.push(request);
  return request;
}

const CALL = { tool_id: "sum", parameters: { a: 2, b: 3 } };

/** Ends when it is told to, and says when it began. */
function gated(): FixtureTool & { begun: Promise<void>; finish(): void } {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  return {
    id: "gated",
    begun: begun.promise,
    finish: gate.resolve,
    run: async (_input, context) => {
      begun.resolve();
      const stopped = new Promise((_resolve, reject) => {
        context.signal.addEventListener("abort", () => reject(new Error("stopped")));
      });
      await Promise.race([gate.promise, stopped]);
      return "done";
    },
  };
}

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
    const tool = gated();
    const { ask } = await open([tool]);
    const client = new AbortController();
    const body = { tool_id: "gated", parameters: {} };
    const kept = ask("invokeTool", { body, signal: client.signal, headers: { "idempotency-key": "k" } });
    await tool.begun;
    client.abort();
    tool.finish();
    expect((await kept).json.status).toBe("success");

    const other = gated();
    const second = await open([other]);
    const leaving = new AbortController();
    const dropped = second.ask("invokeTool", { body, signal: leaving.signal });
    await other.begun;
    leaving.abort();
    expect((await dropped).json.status).toBe("cancelled");
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
    const feed = engine.watch(id);
    while (feed && !feed.ended) await feed.next(feed.last, new AbortController().signal);
    const result = await ask("getInvocationResult", { params: { invocation_id: id } });
    expect(result).toMatchObject({ status: 200, json: { status: "success", result: { sum: 5 } } });
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
    const { ask, engine } = await open();
    const body = { ...CALL, execution_options: { require_approval: true } };
    const { status, json, headers } = await ask("invokeTool", { body });
    expect([status, json.status]).toEqual([202, "pending_approval"]);
    expect(headers).toMatchObject({ location: `${ORIGIN}/v1/invocations/${json.invocation_id}` });
    const params = { invocation_id: String(json.invocation_id) };
    const standing = await ask("getInvocation", { params });
    expect(standing.json).toMatchObject({ status: "pending_approval", state: "WAITING" });
    const approval_id = String(standing.json.approval_id);
    await ask("approve", { params: { approval_id }, principal: OPERATOR });
    const { signal } = new AbortController();
    for (;;) {
      const feed = engine.watch(String(json.invocation_id));
      if (feed?.ended) break;
      await (feed ? feed.next(feed.last, signal) : new Promise(setImmediate));
    }
    expect((await ask("getInvocationResult", { params })).json.status).toBe("success");
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

  it("is passed on when it is one, and left out otherwise", async () => {
    const seen: CallRequest[] = [];
    const { ask, parts } = await open();
    const plain = plainEngine(parts);
    parts.engine = { ...plain, call: (request) => plain.call(noted(seen, request)) };
    await ask("invokeTool", { body: CALL, headers: { traceparent: TRACE, tracestate: "a=b" } });
    for (const traceparent of [
      "x",
      TRACE.replace("00-", "ff-"),
      TRACE.replace(/-b.*-/, "-0000000000000000-"),
    ]) {
      await ask("invokeTool", { body: CALL, headers: { traceparent } });
    }
    const traces = seen.map(({ trace }) => trace);
    expect(traces).toEqual([{ traceparent: TRACE, tracestate: "a=b" }, undefined, undefined, undefined]);
  });
});
