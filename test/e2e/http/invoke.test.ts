import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { IS_FLEET } from "./fixtures/server.ts";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

const server = sharedServer(`
toolLimits:
  - { tools: [printer], enabled: false }
limits: { queueWaitSeconds: 1 }
`);

/** HTTP status, the call's status, the L3 error code, the code of the catalogue. */
type Due = [http: number, status: string, code: string, catalogue: string];

const WRONGS: [what: string, tool: string, due: Due, more?: { parameters?: object; body?: object }][] = [
  ["a tool there is not", "nothing", [404, "error", "tool_not_found", "E3001"]],
  [
    "an operation there is not",
    "echo",
    [404, "error", "tool_not_found", "E3010"],
    { body: { operation: "shout" } },
  ],
  ["one of several operations, without saying which", "faulty", [404, "error", "tool_not_found", "E3010"]],
  [
    "a version there is not",
    "echo",
    [404, "error", "tool_version_not_found", "E3002"],
    { body: { tool_version: "7.7.7" } },
  ],
  [
    "a range that no version is in",
    "echo",
    [409, "error", "tool_version_not_found", "E3006"],
    { body: { tool_version: "^9.0.0" } },
  ],
  ["a tool nobody granted", "locked", [403, "permission_denied", "permission_denied", "E3209"]],
  ["a tool that is switched off", "printer", [409, "error", "tool_not_found", "E3014"]],
  [
    "an input that does not fit",
    "ledger",
    [400, "error", "invalid_parameters", "E3901"],
    { parameters: { file: 7 } },
  ],
  [
    "a tool that throws",
    "faulty",
    [500, "error", "tool_execution_error", "E3907"],
    { body: { operation: "throw" } },
  ],
  [
    "a tool that takes too long",
    "faulty",
    [504, "timeout", "timeout", "E3103"],
    { body: { operation: "hang" } },
  ],
  [
    "a tool that takes longer than the caller allows",
    "courier",
    [504, "timeout", "timeout", "E3103"],
    { parameters: { gate: "/never" }, body: { resource_limits: { timeout_seconds: 1 } } },
  ],
  [
    "a result that is not as promised",
    "faulty",
    [500, "error", "tool_execution_error", "E3501"],
    { body: { operation: "lie" } },
  ],
];

describe("tool.invoke over HTTP", () => {
  it("answers a success with its result and what it took [L3-API-1]", async () => {
    const invocation_id = randomUUID();
    const before = Date.now();
    const { status, headers, body } = await server().invoke(
      "echo",
      { a: [1, "zwei", null] },
      { body: { invocation_id } },
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ invocation_id, status: "success", result: { a: [1, "zwei", null] } });
    const { duration_ms, started_at, completed_at, memory_peak_mb } = body.execution_metadata;
    const after = Date.now();
    const [startedAt, completedAt] = [Date.parse(started_at), Date.parse(completed_at)];
    expect(startedAt).toBeGreaterThanOrEqual(before - 1);
    expect(completedAt).toBeGreaterThanOrEqual(startedAt);
    expect(completedAt).toBeLessThanOrEqual(after + 1);
    expect(duration_ms).toBeLessThanOrEqual(after - before + 1);
    expect(memory_peak_mb).toBeGreaterThan(0);
    expect(body).not.toHaveProperty("error");
    expect(body).not.toHaveProperty("polling_info");
    expect(headers["x-request-id"]).toBeTruthy();
  });

  it("measures the time a call really took [L3-API-1]", async () => {
    const { body } = await server().invoke("faulty", {}, { body: { operation: "hang" } });
    expect(body.execution_metadata.duration_ms).toBeGreaterThanOrEqual(150);
    expect(body.execution_metadata.duration_ms).toBeLessThan(30_000);
  });

  it.each(WRONGS)(
    "says what is wrong with %s [L3-API-1]",
    async (_, tool, due, { parameters = {}, body: more = {} } = {}) => {
      const { status, body } = await server().invoke(tool, parameters, { body: more });
      expect([status, body.status, body.error.code, body.error.details.code]).toEqual(due);
      expect(body.error.message).not.toMatch(/\.ts:|node_modules|\n/);
      expect(body.error.details.advice).toMatch(/\.$/);
      expect(body).not.toHaveProperty("result");
    },
  );

  it("logs a tool that failed as the tool's trouble, not the server's [R1-4.4]", async () => {
    await server().invoke("faulty", {}, { body: { operation: "throw" } });
    const logged = () => server().child.logged(/broken on purpose/);
    await expect.poll(logged, SOON).not.toEqual([]);
    for (const line of logged()) expect(line).toContain("A tool failed");
    expect(
      server()
        .child.logged(/Something went wrong inside/)
        .filter((line) => /E3103|E3907/.test(line)),
    ).toEqual([]);
  });

  it("does not list a tool that is switched off, and says that it is [L3-API-2]", async () => {
    const { body: listed } = await server().ask({ path: "/v1/tools" });
    const ids = listed.tools.map(({ tool_id }: { tool_id: string }) => tool_id);
    expect([ids.includes("echo"), ids.includes("printer")]).toEqual([true, false]);
    const { body } = await server().ask({ path: "/v1/tools/printer" });
    expect([body.current.status, body.versions]).toEqual(["inactive", []]);
  });

  it("refuses documents and checkpoints, which it does not have [L3-API-1]", async () => {
    const document_context = { document_refs: ["doc://spec"] };
    const checkpoint_config = { resume_from_checkpoint_id: "c-1" };
    const { status, body } = await server().invoke(
      "echo",
      {},
      { body: { document_context, checkpoint_config } },
    );
    expect([status, body.code]).toEqual([400, "E3903"]);
    expect(body.issues).toMatchObject([
      {
        path: "/document_context/document_refs",
        reason: expect.stringContaining("does not offer documents"),
      },
      {
        path: "/checkpoint_config/resume_from_checkpoint_id",
        reason: expect.stringContaining("does not offer checkpoints"),
      },
    ]);
    const nothing = {
      document_context: { document_refs: [] },
      checkpoint_config: { enable_checkpointing: true, checkpoint_interval_seconds: 30 },
    };
    expect((await server().invoke("echo", {}, { body: nothing })).status).toBe(200);
  });

  it("names every wrong place of an input [L3-API-1]", async () => {
    const { body } = await server().invoke("ledger", { file: 7, extra: true });
    const places = body.error.details.issues.map(({ path }: { path: string }) => path);
    expect(places.toSorted()).toEqual(["/extra", "/file", "/line"]);
  });

  it("refuses an id that a call has already, and runs nothing [L3-API-1]", async () => {
    const invocation_id = randomUUID();
    const file = server().path("ids.txt");
    const call = (line: string) => server().invoke("ledger", { file, line }, { body: { invocation_id } });
    expect((await call("first")).status).toBe(200);
    const { status, body } = await call("second");
    expect([status, body.error.code, body.error.details.code]).toEqual([
      409,
      "idempotency_conflict",
      "E3905",
    ]);
    expect(readFileSync(file, "utf8")).toBe("first\n");
  });

  it("takes a call for the agent it names, and otherwise for the one it serves [L3-API-1]", async () => {
    const agent_context = {
      agent_did: "did:agent:7",
      tenant_id: "acme",
      user_did: "did:user:1",
      session_id: "s-1",
    };
    const named = await server().invoke("echo", {}, { body: { agent_context } });
    const plain = await server().invoke("echo", {});
    const who = async (id: string) => (await server().ask({ path: `/v1/invocations/${id}` })).body;
    expect(await who(named.body.invocation_id)).toMatchObject(agent_context);
    expect(await who(plain.body.invocation_id)).toMatchObject({ agent_did: "http", tenant_id: "local" });
  });

  it("waits for a person where the caller asks for that [L3-API-1]", async () => {
    const options = { execution_options: { require_approval: true } };
    const { status, headers, body } = await server().invoke("echo", {}, { body: options });
    expect([status, body.status, body.error.details.code]).toEqual([202, "pending_approval", "E3213"]);
    expect(headers.location).toBe(body.polling_info.status_url);
    expect(headers["retry-after"]).toMatch(/^\d+$/);
  });

  // Each process of a fleet counts for itself.
  it.skipIf(IS_FLEET)(
    "runs four calls of an agent at once, and says when to come again [L3-EXE-4] [L3-API-1]",
    async () => {
      const gate = server().path("crowd.gate");
      let answered = 0;
      const calls = Array.from({ length: 10 }, async () => {
        const answer = await server().invoke("courier", { gate });
        answered += 1;
        return answer;
      });
      // Each that found no place has waited for one as long as it may.
      await expect.poll(() => answered).toBe(6);
      writeFileSync(gate, "");
      const answers = await Promise.all(calls);
      const refused = answers.filter(({ status }) => status === 429);
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(4);
      expect(refused).toHaveLength(6);
      for (const { headers, body } of refused) {
        expect(body.error).toMatchObject({
          code: "resource_exhausted",
          retryable: true,
          details: { code: "E3106" },
        });
        expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
      }
    },
  );
});
