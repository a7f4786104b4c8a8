import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { agent, OPERATOR, ORIGIN, refusal, refused } from "./fixtures/ask.ts";
import { type FixtureDoor, plainEngine, SUM } from "./fixtures/door.ts";
import { gatedTool } from "./fixtures/gated-tool.ts";
import { opening } from "./fixtures/opening.ts";

const open = opening();

const CALL = { tool_id: "sum", parameters: { a: 2, b: 3 } };

async function made(door: FixtureDoor, body: object = CALL, principal = OPERATOR): Promise<string> {
  return String((await door.ask("invokeTool", { body, principal })).json.invocation_id);
}

/** A call of a tool that changes nothing, whose caller waits for it: it runs, and the journal has nothing of it. */
async function waitedFor(more: { door?: FixtureDoor; tool?: ReturnType<typeof gatedTool> } = {}) {
  const tool = more.tool ?? gatedTool();
  const door = more.door ?? (await open([SUM, tool]));
  const before = Date.now();
  const answer = made(door, { tool_id: "gated", parameters: {} });
  await tool.begun;
  const [running] = door.engine.running();
  const finish = async () => {
    tool.finish();
    await answer;
  };
  return { door, invocation_id: running?.callId ?? "", finish, before };
}

async function ended(door: FixtureDoor, id: string): Promise<void> {
  const feed = await door.engine.watch(id);
  while (feed && !feed.ended) await feed.next(feed.last, new AbortController().signal);
}

describe("GET /v1/invocations/{invocation_id}", () => {
  it("shows how far a running call is, and what is on record once it has ended [L3-API-2] [L3-EXE-5]", async () => {
    const tool = gatedTool();
    const door = await open([tool]);
    const body = { tool_id: "gated", parameters: {}, execution_options: { async_mode: true } };
    const invocation_id = await made(door, body);
    await tool.begun;
    const running = await door.ask("getInvocation", { params: { invocation_id } });
    expect(running).toMatchObject({
      headers: { "retry-after": "1" },
      json: {
        status: "running",
        state: "EXECUTING",
        progress_percent: 40,
        current_phase: "halfway",
        links: { cancel: `${ORIGIN}/v1/invocations/${invocation_id}:cancel` },
      },
    });
    const open202 = await door.ask("getInvocationResult", { params: { invocation_id } });
    expect(open202).toMatchObject({ status: 202, json: { status: "running" } });
    tool.finish();
    await ended(door, invocation_id);
    const over = await door.ask("getInvocation", { params: { invocation_id } });
    expect(over.headers).toBeUndefined();
    expect(over.json).toMatchObject({
      status: "success",
      state: "COMPLETED",
      lifecycle: expect.arrayContaining([{ state: "EXECUTING", at: expect.any(String) }]),
      receipt: { sequence: expect.any(Number) },
    });
    expect(over.json).not.toHaveProperty("result");
  });

  it("shows since when a call runs that is being waited for, and as what, before it is on record [L3-API-2]", async () => {
    const { door, invocation_id, finish, before } = await waitedFor();
    const running = await door.ask("getInvocation", { params: { invocation_id } });
    expect(running.json).toMatchObject({
      status: "running",
      state: "EXECUTING",
      tool_version: "1.0.0",
      operation: "run",
      started_at: expect.any(String),
    });
    expect(Date.parse(String(running.json.started_at))).toBeGreaterThanOrEqual(before);
    const open202 = await door.ask("getInvocationResult", { params: { invocation_id } });
    expect(open202).toMatchObject({
      status: 202,
      json: { execution_metadata: { started_at: running.json.started_at } },
    });
    await finish();
  });

  it("says how long a call has run so far, also one whose clock went back", async () => {
    const door = await open();
    const of = { tenant: "local", agent: "http", tool: "sum" };
    const now = { version: "1.0.0", operation: "run", startedAt: 5_000 };
    door.parts.engine = {
      ...plainEngine(door.parts),
      standing: async () => ({ of, status: "running", now }),
    };
    const took = async (at: number) => {
      door.parts.clock = { now: () => at };
      const { json } = await door.ask("getInvocationResult", { params: { invocation_id: "1" } });
      return (json.execution_metadata as { duration_ms: number }).duration_ms;
    };
    expect([await took(6_500), await took(4_000)]).toEqual([1_500, 0]);
  });

  it("shows the error of a call that failed; its result is read with 200 [L3-API-2]", async () => {
    const door = await open();
    const invocation_id = await made(door, { ...CALL, parameters: {} });
    const status = await door.ask("getInvocation", { params: { invocation_id } });
    expect(status.json).toMatchObject({ status: "error", error: { code: "invalid_parameters" } });
    const result = await door.ask("getInvocationResult", { params: { invocation_id } });
    expect(result).toMatchObject({ status: 200, json: { status: "error" } });
  });

  it("says that the outcome is unknown when the process ended while the call ran", async () => {
    const door = await open();
    const of = { tenant: "local", agent: "http", tool: "sum" };
    door.parts.engine = { ...plainEngine(door.parts), standing: async () => ({ of, status: "unknown" }) };
    const params = { invocation_id: "1" };
    const status = await door.ask("getInvocation", { params });
    expect(status.json).toMatchObject({ status: "error", error: { details: { code: "E3909" } } });
    const result = await door.ask("getInvocationResult", { params });
    expect(result).toMatchObject({ status: 200, json: { error: { details: { code: "E3909" } } } });
    expect(result.json).not.toHaveProperty("polling_info");
  });

  it("is unknown to other agents, exactly as a call that never was", async () => {
    const door = await open([SUM], { parts: { callers: "token" } });
    const context = { tenant_id: "acme", agent_did: "bob" };
    const invocation_id = await made(door, { ...CALL, agent_context: context });
    const look = (principal: ReturnType<typeof agent>, id = invocation_id) =>
      door.ask("getInvocation", { params: { invocation_id: id }, principal });
    expect((await look(agent("bob"))).status).toBe(200);
    expect(await refused(look(agent("eve")))).toEqual({
      ...(await refused(look(agent("eve"), "none"))),
      message: `There is no call ${invocation_id}.`,
    });
    expect(await refusal(look(agent("bob", "other tenant")))).toBe("E3917");
    for (const id of ["getInvocationResult", "cancelInvocation", "watchInvocation"]) {
      expect(await refusal(door.ask(id, { params: { invocation_id }, principal: agent("eve") }))).toBe(
        "E3917",
      );
    }
    expect(await refusal(door.ask("getInvocation", { params: { invocation_id } }))).toBe("E3938");
  });
});

it("a call that has ended says where its time went, and to those who see every call what was decided [L3-API-2]", async () => {
  const slow = { ...SUM, run: () => sleep(5).then(() => 3) };
  const door = await open([slow], { parts: { callers: "token" } });
  const body = { ...CALL, agent_context: { agent_did: "bob", tenant_id: "acme" } };
  const params = { invocation_id: await made(door, body) };
  const { json: all } = await door.ask("getInvocation", { params, principal: OPERATOR });
  const { json: own } = await door.ask("getInvocation", { params, principal: agent("bob") });
  const stages = expect.arrayContaining([{ stage: "execute", attempt: 1, duration_ms: expect.any(Number) }]);
  const decision = { attempt: 1, outcome: "allow", reason: expect.any(String), rules: expect.any(Array) };
  expect(all.timeline).toMatchObject({ stages, decisions: [decision] });
  expect(own.timeline).toEqual({ stages: (all.timeline as { stages: unknown }).stages });
});

describe("GET /v1/invocations", () => {
  it("lists calls newest first, page by page [L3-API-2]", async () => {
    const door = await open();
    const ids = [await made(door), await made(door), await made(door)];
    const first = await door.ask("listInvocations", { query: { limit: "2" } });
    const listed = (json: Record<string, unknown>) =>
      (json.invocations as { invocation_id: string }[]).map((one) => one.invocation_id);
    expect(listed(first.json)).toEqual([ids[2], ids[1]]);
    const second = await door.ask("listInvocations", {
      query: { limit: "2", cursor: String(first.json.next_cursor) },
    });
    expect(listed(second.json)).toEqual([ids[0]]);
    expect(second.json).not.toHaveProperty("next_cursor");
  });

  it("shows calls that run and are waited for among those on record, and each once [L3-API-2] [L3-EXE-5]", async () => {
    const tool = gatedTool();
    const door = await open([SUM, tool]);
    const old = [await made(door), await made(door)];
    const { invocation_id, finish } = await waitedFor({ door, tool });
    const list = async (query: Record<string, string> = {}) => {
      const { json } = await door.ask("listInvocations", { query });
      const ids = (json.invocations as { invocation_id: string }[]).map((one) => one.invocation_id);
      return { ids, next: json.next_cursor, first: (json.invocations as object[])[0] };
    };
    const whole = await list();
    expect(whole.ids).toEqual([invocation_id, old[1], old[0]]);
    expect(whole.first).toMatchObject({
      status: "running",
      tool_id: "gated",
      tool_version: "1.0.0",
      operation: "run",
      tenant_id: "local",
      agent_did: "http",
      started_at: expect.any(String),
      status_url: `${ORIGIN}/v1/invocations/${invocation_id}`,
    });
    expect((await list({ status: "running" })).ids).toEqual([invocation_id]);
    expect((await list({ status: "success" })).ids).toEqual([old[1], old[0]]);
    expect((await list({ tool: "sum" })).ids).toEqual([old[1], old[0]]);
    expect((await list({ agent: "nobody" })).ids).toEqual([]);
    const first = await list({ limit: "1" });
    expect(first.ids).toEqual([invocation_id]);
    const cursor = String(first.next);
    expect((await list({ limit: "1", cursor })).ids).toEqual([old[1]]);
    await finish();
    expect((await list()).ids).toEqual([invocation_id, old[1], old[0]]);
    expect((await list({ cursor })).ids).toEqual([old[1], old[0]]);
  });

  it("shows a running call that is on record once, however many came after it", async () => {
    const tool = gatedTool();
    const door = await open([SUM, tool]);
    const body = { tool_id: "gated", parameters: {}, execution_options: { async_mode: true } };
    const invocation_id = await made(door, body);
    await tool.begun;
    await made(door);
    await made(door);
    const pages: unknown[] = [];
    for (let cursor: unknown, left = 5; left > 0; left -= 1) {
      const query = { limit: "1", ...(cursor !== undefined && { cursor: String(cursor) }) };
      const { json } = await door.ask("listInvocations", { query });
      pages.push(...(json.invocations as unknown[]));
      cursor = json.next_cursor;
      if (cursor === undefined) break;
    }
    expect(pages).toMatchObject([
      { tool_id: "sum" },
      { tool_id: "sum" },
      { invocation_id, status: "running" },
    ]);
    tool.finish();
    await ended(door, invocation_id);
  });

  it("shows an agent none of the others' running calls", async () => {
    const tool = gatedTool();
    const door = await open([SUM, tool], { parts: { callers: "token" } });
    const context = { tenant_id: "acme", agent_did: "bob" };
    const answer = made(door, { tool_id: "gated", parameters: {}, agent_context: context });
    await tool.begun;
    const seen = async (principal: ReturnType<typeof agent>) =>
      (await door.ask("listInvocations", { query: {}, principal })).json.invocations;
    expect(await seen(agent("bob"))).toMatchObject([{ agent_did: "bob", status: "running" }]);
    expect(await seen(agent("eve"))).toEqual([]);
    expect(await seen(agent("bob", "other tenant"))).toEqual([]);
    tool.finish();
    await answer;
  });

  it("filters by tenant, agent, tool and how they stand", async () => {
    const door = await open([SUM, { id: "other" }]);
    await made(door, { ...CALL, parameters: {} });
    await made(door, { ...CALL, execution_options: { require_approval: true } });
    await made(door, { tool_id: "other", parameters: {}, agent_context: { tenant_id: "t", agent_did: "a" } });
    const count = async (query: Record<string, string>) =>
      ((await door.ask("listInvocations", { query })).json.invocations as unknown[]).length;
    expect(await count({})).toBe(3);
    expect(await count({ status: "error" })).toBe(1);
    expect(await count({ status: "pending_approval" })).toBe(1);
    expect(await count({ status: "unknown" })).toBe(0);
    expect(await count({ status: "running" })).toBe(0);
    expect(await count({ status: "pending" })).toBe(0);
    expect(await count({ tool: "other" })).toBe(1);
    expect(await count({ tenant: "t", agent: "a" })).toBe(1);
    expect(await count({ tenant: "t", agent: "b" })).toBe(0);
  });

  it("asks for outlines where the store has them, and for no whole call", async () => {
    const outline = {
      ...{ callId: "c-1", tenant: "acme", agent: "bob", tool: "sum", version: "1.0.0", operation: "sum" },
      ...{ startedAt: 0, phase: "closed" as const },
      closing: { status: "error" as const, closedAt: 1, errorCode: "E3107" },
    };
    const calls = {
      list: () => Promise.reject(new Error("a whole call was asked for")),
      outlines: async ({ limit }: { limit: number }) => [outline].slice(0, limit),
    };
    const door = await open([SUM], { parts: { calls } });
    const { json } = await door.ask("listInvocations", {});
    expect(json.invocations).toMatchObject([
      {
        invocation_id: "c-1",
        status: "error",
        error_code: "E3107",
        completed_at: "1970-01-01T00:00:00.001Z",
      },
    ]);
  });

  it("shows an agent its own calls alone, whatever it asks for", async () => {
    const door = await open([SUM], { parts: { callers: "token" } });
    await made(door, { ...CALL, agent_context: { tenant_id: "acme", agent_did: "bob" } });
    await made(door, { ...CALL, agent_context: { tenant_id: "acme", agent_did: "eve" } });
    const seen = async (query: Record<string, string>) =>
      (await door.ask("listInvocations", { query, principal: agent("bob") })).json.invocations;
    expect(await seen({})).toMatchObject([{ agent_did: "bob" }]);
    expect(await seen({ agent: "bob" })).toHaveLength(1);
    expect(await seen({ agent: "eve" })).toEqual([]);
    expect(await seen({ tenant: "other" })).toEqual([]);
  });
});

describe("POST /v1/invocations/{invocation_id}:cancel", () => {
  it("ends a running call, and says so again when asked again [L3-API-2] [L3-EXE-5]", async () => {
    const tool = gatedTool();
    const door = await open([tool]);
    const body = { tool_id: "gated", parameters: {}, execution_options: { async_mode: true } };
    const invocation_id = await made(door, body);
    await tool.begun;
    const params = { invocation_id };
    const done = await door.ask("cancelInvocation", { params, body: { reason: "not needed" } });
    expect(done.json).toMatchObject({ invocation_id, cancelled: true, message: expect.any(String) });
    await ended(door, invocation_id);
    expect((await door.ask("getInvocation", { params })).json).toMatchObject({
      status: "cancelled",
      error: { details: { code: "E3906" } },
    });
    expect((await door.ask("cancelInvocation", { params })).json).toMatchObject({
      cancelled: true,
      message: "Already cancelled.",
      status: "cancelled",
    });
  });

  it("tells that a call had ended before [L3-API-2]", async () => {
    const door = await open();
    const invocation_id = await made(door);
    const { json } = await door.ask("cancelInvocation", { params: { invocation_id }, body: null });
    expect(json).toMatchObject({
      cancelled: false,
      status: "success",
      message: expect.stringContaining("Already"),
    });
    expect(await refusal(door.ask("cancelInvocation", { params: { invocation_id: "none" } }))).toBe("E3917");
  });
});

describe("POST /v1/invocations/{invocation_id}:resume", () => {
  it("runs a call that was approved, and says how one stands that was not", async () => {
    const door = await open();
    const caller = { tenant: "local", agent: "cli" };
    const order = { tool: "sum", input: { a: 1, b: 1 }, caller, requireApproval: true } as const;
    const waiting = await door.engine.call({ ...order, onApproval: "pending" });
    const params = { invocation_id: waiting.callId };
    const still = await door.ask("resumeInvocation", { params, principal: OPERATOR });
    expect(still).toMatchObject({ status: 202, json: { status: "pending_approval" } });
    const [approval] = await door.engine.approvals.list({ limit: 1 });
    await door.engine.approvals.approve(approval?.approvalId ?? "", { by: "ann" });
    const { status, json } = await door.ask("resumeInvocation", { params, principal: OPERATOR });
    expect([status, json.result]).toEqual([200, { sum: 2 }]);
    expect(await refusal(door.ask("resumeInvocation", { params: { invocation_id: "none" } }))).toBe("E3917");
  });
});
