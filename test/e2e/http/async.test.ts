import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PROCESSES, TestServer } from "./fixtures/server.ts";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

const server = sharedServer();
/** Of an agent's four places in each process one is kept for a call whose caller waits for it. */
const AT_ONCE = 3 * PROCESSES;
const WAITING = 3;
const ASYNC = { body: { execution_options: { async_mode: true } } };

function statusOf(at: TestServer, id: string): Promise<string> {
  return at.ask({ path: `/v1/invocations/${id}` }).then(({ body }) => body.status);
}

describe("a call that nobody waits for", () => {
  it("is accepted at once, polled, and its result fetched [L3-EXE-5]", async () => {
    const gate = server().path("accept.gate");
    const { status, headers, body } = await server().invoke("courier", { gate }, ASYNC);
    expect(status).toBe(202);
    expect(["pending", "running"]).toContain(body.status);
    const url = `${server().url}/v1/invocations/${body.invocation_id}`;
    expect([headers.location, body.polling_info.status_url]).toEqual([url, url]);
    expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
    expect(headers["preference-applied"]).toBeUndefined();
    const path = new URL(url).pathname;
    expect(await server().ask({ path: `${path}/result` })).toMatchObject({
      status: 202,
      body: { invocation_id: body.invocation_id },
    });
    writeFileSync(gate, "");
    await expect.poll(() => statusOf(server(), body.invocation_id), SOON).toBe("success");
    const result = await server().ask({ path: `${path}/result` });
    expect(result).toMatchObject({ status: 200, body: { status: "success", result: { delivered: true } } });
    expect(result.body).not.toHaveProperty("polling_info");
  });

  it("can be wished for by a header too [L3-EXE-5]", async () => {
    const headers = { prefer: "return=minimal, Respond-Async; wait=10" };
    const { status, headers: answered, body } = await server().invoke("echo", { a: 1 }, { headers });
    expect([status, answered["preference-applied"]]).toEqual([202, "respond-async"]);
    await expect.poll(() => statusOf(server(), body.invocation_id), SOON).toBe("success");
  });

  it("is said to be accepted before when it is asked for again [L3-API-1] [L3-EXE-5]", async () => {
    const gate = server().path("again.gate");
    const headers = { "idempotency-key": "async-again", prefer: "respond-async" };
    const first = await server().invoke("courier", { gate }, { headers });
    const again = await server().invoke("courier", { gate }, { headers });
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.body.invocation_id).toBe(first.body.invocation_id);
    expect([first.headers, again.headers].map((one) => one["idempotent-replayed"])).toEqual([
      undefined,
      "true",
    ]);
    writeFileSync(gate, "");
    await expect.poll(() => statusOf(server(), first.body.invocation_id), SOON).toBe("success");
  });

  it("is refused at once when it can never run [L3-EXE-5]", async () => {
    const unknown = await server().invoke("nothing", {}, ASYNC);
    expect([unknown.status, unknown.body.error.details.code]).toEqual([404, "E3001"]);
    const denied = await server().invoke("locked", {}, ASYNC);
    expect([denied.status, denied.body.status]).toEqual([403, "permission_denied"]);
    const invalid = await server().invoke("ledger", { file: 1 }, ASYNC);
    expect([invalid.status, invalid.body.error.details.code]).toEqual([400, "E3901"]);
  });

  it("keeps the failure it ended with [L3-EXE-5]", async () => {
    const { body } = await server().invoke("faulty", {}, { body: { ...ASYNC.body, operation: "throw" } });
    await expect.poll(() => statusOf(server(), body.invocation_id), SOON).toBe("error");
    const result = await server().ask({ path: `/v1/invocations/${body.invocation_id}/result` });
    expect(result).toMatchObject({ status: 200, body: { error: { code: "tool_execution_error" } } });
  });

  it("waits its turn when an agent has as many as may run, and can be cancelled there [L3-EXE-4] [L3-EXE-5]", async () => {
    const gate = server().path("queue.gate");
    const agent_context = { agent_did: "did:agent:busy", tenant_id: "local" };
    const body = { ...ASYNC.body, agent_context };
    const ids: string[] = [];
    for (let call = 0; call < AT_ONCE + WAITING; call += 1)
      ids.push((await server().invoke("courier", { gate }, { body })).body.invocation_id);
    const standings = () => Promise.all(ids.map((id) => statusOf(server(), id)));
    await expect
      .poll(async () => (await standings()).toSorted(), SOON)
      .toEqual([...Array(WAITING).fill("pending"), ...Array(AT_ONCE).fill("running")]);
    const last = ids.at(-1);
    const cancelled = await server().ask({ method: "POST", path: `/v1/invocations/${last}:cancel` });
    expect(cancelled).toMatchObject({ status: 200, body: { cancelled: true, status: "cancelled" } });
    writeFileSync(gate, "");
    await expect.poll(standings, SOON).toEqual([...Array(ids.length - 1).fill("success"), "cancelled"]);
  });
});

/** What becomes of a call that ran when the server ended. Those that waited run afterwards. */
const CUT = { stop: ["cancelled", "E3906"], kill: ["error", "E3107"] } as const;

describe("a server that ends while calls are open", () => {
  it.each(["stop", "kill"] as const)(
    "has one outcome for each of them afterwards (%s) [L3-EXE-5]",
    async (how) => {
      await using restarted = await TestServer.open("http: { shutdownSeconds: 1 }\n");
      const gate = restarted.path("restart.gate");
      const file = restarted.path("restart.txt");
      const accept = async (tool: string, parameters: object) =>
        (await restarted.invoke(tool, parameters, ASYNC)).body.invocation_id as string;
      const ids = [await accept("courier", { gate })];
      for (let more = 1; more < AT_ONCE + WAITING; more += 1) ids.push(await accept("courier", { gate }));
      ids.push(await accept("ledger", { file, line: "once" }));
      const standings = () => Promise.all(ids.map((id) => statusOf(restarted, id)));
      await expect
        .poll(standings, SOON)
        .toEqual([...Array(AT_ONCE).fill("running"), ...Array(WAITING + 1).fill("pending")]);
      await restarted[how]();
      writeFileSync(gate, "");
      await restarted.start();
      const [status, code] = CUT[how];
      await expect
        .poll(standings, SOON)
        .toEqual([...Array(AT_ONCE).fill(status), ...Array(WAITING + 1).fill("success")]);
      const cut = await restarted.ask({ path: `/v1/invocations/${ids[0]}` });
      expect(cut.body).toMatchObject({ state: "ROLLED_BACK", error: { details: { code } } });
      expect(readFileSync(file, "utf8")).toBe("once\n");
      expect((await restarted.operator({ path: "/v1/audit:verify" })).body.verified).toBe(true);
    },
  );
});
