import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { send } from "./fixtures/ask.ts";
import { TestServer } from "./fixtures/server.ts";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

const server = sharedServer();

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
}

/** A call with an effect that can be counted, under a key. */
function entry(
  at: TestServer,
  key: string,
  { line = "once", inBody = false }: { line?: string; inBody?: boolean } = {},
) {
  const file = at.path(`${key}.txt`);
  const more = inBody
    ? { body: { execution_options: { idempotency_key: key } } }
    : { headers: { "idempotency-key": key } };
  return at.invoke("ledger", { file, line }, more);
}

describe("the same request twice", () => {
  it("runs once, whether its key comes as a header or in the body [L3-API-1]", async () => {
    const first = await entry(server(), "both");
    const again = await entry(server(), "both", { inBody: true });
    const quoted = await server().invoke(
      "ledger",
      { file: server().path("both.txt"), line: "once" },
      { headers: { "idempotency-key": '"both"' } },
    );
    expect(first.headers["idempotent-replayed"]).toBeUndefined();
    expect([again.headers["idempotent-replayed"], quoted.headers["idempotent-replayed"]]).toEqual([
      "true",
      "true",
    ]);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(quoted.body).toEqual(first.body);
    expect(linesOf(server().path("both.txt"))).toEqual(["once"]);
  });

  it("is a conflict when the request is another [L3-API-1]", async () => {
    await entry(server(), "conflict");
    const { status, body } = await entry(server(), "conflict", { line: "another" });
    expect([status, body.error.code, body.error.details.code]).toEqual([
      409,
      "idempotency_conflict",
      "E3904",
    ]);
    expect(linesOf(server().path("conflict.txt"))).toEqual(["once"]);
  });

  it("is another request when another agent sends it [L3-API-1]", async () => {
    const file = server().path("agents.txt");
    for (const agent_did of ["did:agent:1", "did:agent:2"]) {
      const options = {
        agent_context: { agent_did, tenant_id: "local" },
        execution_options: { idempotency_key: "mine" },
      };
      expect((await server().invoke("ledger", { file, line: agent_did }, { body: options })).status).toBe(
        200,
      );
    }
    expect(linesOf(file)).toEqual(["did:agent:1", "did:agent:2"]);
  });

  it("gives the same failure again, and runs nothing again [L3-API-1]", async () => {
    const headers = { "idempotency-key": "failing" };
    const call = () => server().invoke("faulty", {}, { body: { operation: "throw" }, headers });
    const [first, again] = [await call(), await call()];
    expect([first.status, again.status]).toEqual([500, 500]);
    expect(again.body).toEqual(first.body);
    expect(again.headers["idempotent-replayed"]).toBe("true");
  });

  it("has one effect when twenty send it at once [L3-API-1]", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => entry(server(), "at-once")));
    expect(linesOf(server().path("at-once.txt"))).toEqual(["once"]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.invocation_id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers["idempotent-replayed"] === undefined)).toHaveLength(1);
  });

  it("is accepted once when twenty send it at once and do not wait [L3-API-1] [L3-EXE-5]", async () => {
    const file = server().path("async.txt");
    const headers = { "idempotency-key": "async", prefer: "respond-async" };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => server().invoke("ledger", { file, line: "once" }, { headers })),
    );
    expect(new Set(answers.map(({ body }) => body.invocation_id)).size).toBe(1);
    const path = `/v1/invocations/${answers[0]?.body.invocation_id}`;
    await expect.poll(async () => (await server().ask({ path })).body.status, SOON).toBe("success");
    expect(linesOf(file)).toEqual(["once"]);
    const late = await server().invoke("ledger", { file, line: "once" }, { headers });
    expect([late.status, late.body.status]).toEqual([200, "success"]);
  });
});

describe("a caller that goes away", () => {
  /** Calls, goes away once the tool runs, and says where to ask about the call. */
  async function gone(headers: Record<string, string>, gate: string): Promise<string> {
    const invocation_id = randomUUID();
    const leaving = new AbortController();
    const body = { tool_id: "courier", invocation_id, parameters: { gate } };
    const answer = send(server().url, { path: "/v1/tools/invoke", body, headers, signal: leaving.signal });
    const path = `/v1/invocations/${invocation_id}`;
    await expect.poll(async () => (await server().ask({ path })).body.current_phase, SOON).toBe("fetching");
    leaving.abort();
    await expect(answer).rejects.toThrow();
    return path;
  }

  it("has its call cancelled when it gave no key", async () => {
    const path = await gone({}, server().path("no-key.gate"));
    await expect.poll(async () => (await server().ask({ path })).body.status, SOON).toBe("cancelled");
  });

  it("finds the answer under its key when it comes back [L3-API-1]", async () => {
    const gate = server().path("with-key.gate");
    const headers = { "idempotency-key": "comes-back" };
    const path = await gone(headers, gate);
    writeFileSync(gate, "");
    await expect.poll(async () => (await server().ask({ path })).body.status, SOON).toBe("success");
    const { status, body, headers: answered } = await server().invoke("courier", { gate }, { headers });
    expect([status, body.result, answered["idempotent-replayed"]]).toEqual([
      200,
      { delivered: true },
      "true",
    ]);
  });
});

describe("a key", () => {
  it.each(["stop", "kill"] as const)("outlives the server (%s) [L3-API-1]", async (how) => {
    await using restarted = await TestServer.open();
    const first = await entry(restarted, "kept");
    await restarted[how]();
    await restarted.start();
    const again = await entry(restarted, "kept");
    expect(again.body).toEqual(first.body);
    expect(again.headers["idempotent-replayed"]).toBe("true");
    expect((await entry(restarted, "kept", { line: "another" })).status).toBe(409);
    expect(linesOf(restarted.path("kept.txt"))).toEqual(["once"]);
  });
});
