import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

const server = sharedServer();
const ALL = ["courier", "echo", "faulty", "ledger", "locked", "payment", "printer"];

async function list(query = ""): Promise<{ ids: string[]; total: number }> {
  const { status, body } = await server().ask({ path: `/v1/tools${query}` });
  expect(status).toBe(200);
  return { ids: body.tools.map(({ tool_id }: { tool_id: string }) => tool_id), total: body.total_count };
}

describe("tool.list over HTTP", () => {
  it("lists every tool, and says what each is [L3-API-2]", async () => {
    const { body } = await server().ask({ path: "/v1/tools" });
    expect(body).toMatchObject({ total_count: ALL.length, page: 1, page_size: 50 });
    expect(body.tools.map(({ tool_id }: { tool_id: string }) => tool_id).toSorted()).toEqual(ALL);
    expect(body.tools).toContainEqual({
      tool_id: "courier",
      tool_name: "courier",
      description: "Fetches, waits until the gate is open, and delivers.",
      category: "external_api",
      versions: ["1.2.0"],
      latest_version: "1.2.0",
      tags: ["slow"],
      requires_approval: false,
    });
  });

  it("finds tools by category, tags and words [L3-API-2]", async () => {
    expect(await list("?category=computation&tags=quick,plain")).toMatchObject({ ids: ["echo"] });
    expect(await list("?tags=quick,slow")).toEqual({ ids: [], total: 0 });
    expect((await list("?capability_query=pay%20an%20amount")).ids[0]).toBe("payment");
    expect(await list("?capability_query=qwertz")).toEqual({ ids: [], total: 0 });
  });

  it("goes through them page by page [L3-API-2]", async () => {
    const pages = await Promise.all([1, 2, 3, 4, 5].map((page) => list(`?page=${page}&page_size=2`)));
    expect(pages.flatMap(({ ids }) => ids).toSorted()).toEqual(ALL);
    expect(pages.map(({ ids }) => ids.length)).toEqual([2, 2, 2, 1, 0]);
    expect(new Set(pages.map(({ total }) => total))).toEqual(new Set([ALL.length]));
  });

  it("shows a tool, its versions, and that a person is asked [L3-API-2]", async () => {
    const { body } = await server().ask({ path: "/v1/tools/payment" });
    expect(body).toMatchObject({
      requires_approval: true,
      current: {
        version: "1.0.0",
        lifecycle: "active",
        operations: { run: { risk: "high", side_effects: "external" } },
      },
    });
    const { body: versions } = await server().ask({ path: "/v1/tools/payment/versions" });
    expect(versions).toMatchObject({
      tool_id: "payment",
      latest_version: "1.0.0",
      versions: [{ version: "1.0.0" }],
    });
    expect((await server().ask({ path: "/v1/tools/paiment" })).body.detail).toContain("payment");
  });
});

/** A call that waits at its gate; its path, and the gate. */
async function running(name: string): Promise<{ path: string; gate: string }> {
  const gate = server().path(`${name}.gate`);
  const { status, body } = await server().invoke(
    "courier",
    { gate },
    { headers: { prefer: "respond-async" } },
  );
  expect(status).toBe(202);
  const path = `/v1/invocations/${body.invocation_id}`;
  await expect.poll(async () => (await server().ask({ path })).body.current_phase, SOON).toBe("fetching");
  return { path, gate };
}

describe("an address where a tool is run", () => {
  it("is not taken for a tool's name [L3-API-2]", async () => {
    const { status, headers, body } = await server().ask({ path: "/v1/tools/invoke" });
    expect([status, headers.allow, body.code]).toEqual([405, "POST, OPTIONS", "E3931"]);
  });
});

describe("tool.status over HTTP", () => {
  it("tells progress and phase while the call runs, and everything when it has ended [L3-API-2]", async () => {
    const { path, gate } = await running("status");
    const { headers, body } = await server().ask({ path });
    expect(body).toMatchObject({
      status: "running",
      tool_id: "courier",
      tool_version: "1.2.0",
      operation: "run",
      progress_percent: 25,
      current_phase: "fetching",
      state: "EXECUTING",
      links: { cancel: `${server().url}${path}:cancel`, events: `${server().url}${path}/events` },
    });
    expect(headers["retry-after"]).toMatch(/^\d+$/);
    writeFileSync(gate, "");
    await expect.poll(async () => (await server().ask({ path })).body.status, SOON).toBe("success");
    const ended = await server().ask({ path });
    expect(ended.headers["retry-after"]).toBeUndefined();
    expect(ended.body).toMatchObject({ state: "COMPLETED", receipt: { tenant_id: "local" } });
    const states = ended.body.lifecycle.map(({ state }: { state: string }) => state);
    expect(states).toEqual([...new Set(states)]);
    expect(states.at(-1)).toBe("COMPLETED");
  });

  it("knows nothing of a call there never was [L3-API-2]", async () => {
    for (const more of ["", "/result", "/events"]) {
      const { status, body } = await server().ask({ path: `/v1/invocations/none${more}` });
      expect([status, body.code]).toEqual([404, "E3917"]);
    }
  });
});

describe("tool.cancel over HTTP", () => {
  const cancel = (path: string, body?: object) =>
    server().ask({ method: "POST", path: `${path}:cancel`, ...(body && { body }) });

  it("ends a call that runs, and says the same when it is asked again [L3-API-2]", async () => {
    const { path } = await running("cancel");
    const { status, body } = await cancel(path, { reason: "not needed any more" });
    expect([status, body.cancelled]).toEqual([200, true]);
    await expect.poll(async () => (await server().ask({ path })).body.status, SOON).toBe("cancelled");
    const again = await cancel(path);
    expect(again).toMatchObject({ status: 200, body: { cancelled: true, status: "cancelled" } });
    const { body: answer } = await server().ask({ path: `${path}/result` });
    expect(answer).toMatchObject({ status: "cancelled", error: { details: { code: "E3906" } } });
    expect(answer.error.message).toContain("not needed any more");
  });

  it("takes the whole of tool.cancel, and no other call's [L3-API-2]", async () => {
    const { body } = await server().invoke("echo", {});
    const { invocation_id } = body;
    const path = `/v1/invocations/${invocation_id}`;
    const agent_context = { agent_did: "http", tenant_id: "local" };
    const whole = { invocation_id, agent_context, reason: "not needed any more" };
    expect(await cancel(path, whole)).toMatchObject({ status: 200, body: { cancelled: false } });
    const other = await cancel(path, { ...whole, invocation_id: "another" });
    expect([other.status, other.body.issues[0].path]).toEqual([400, "/invocation_id"]);
  });

  it("leaves a call that has ended as it is [L3-API-2]", async () => {
    const { body } = await server().invoke("echo", {});
    const path = `/v1/invocations/${body.invocation_id}`;
    expect(await cancel(path)).toMatchObject({ status: 200, body: { cancelled: false, status: "success" } });
    expect((await server().ask({ path })).body.status).toBe("success");
  });

  it("finds nothing to cancel where there is no call", async () => {
    expect(await cancel("/v1/invocations/none")).toMatchObject({ status: 404, body: { code: "E3917" } });
  });
});

describe("the list of calls", () => {
  it("comes newest first, a page at a time, each call once", async () => {
    const agent_context = { agent_did: "did:agent:pages", tenant_id: "local" };
    const made: string[] = [];
    for (let call = 0; call < 7; call += 1) {
      const tool = call % 2 === 0 ? "echo" : "locked";
      made.unshift((await server().invoke(tool, {}, { body: { agent_context } })).body.invocation_id);
    }
    const seen: string[] = [];
    let cursor = "";
    do {
      const { body } = await server().ask({ path: `/v1/invocations?agent=did:agent:pages&limit=2${cursor}` });
      seen.push(...body.invocations.map(({ invocation_id }: { invocation_id: string }) => invocation_id));
      cursor = body.next_cursor === undefined ? "" : `&cursor=${body.next_cursor}`;
    } while (cursor !== "");
    expect(seen).toEqual(made);
  });

  it("holds only what is asked for", async () => {
    const { body } = await server().ask({ path: "/v1/invocations?tool=courier&status=cancelled" });
    expect(body.invocations.length).toBeGreaterThan(0);
    for (const call of body.invocations)
      expect(call).toMatchObject({ tool_id: "courier", status: "cancelled", error_code: "E3906" });
  });
});
