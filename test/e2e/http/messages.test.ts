import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

const server = sharedServer();

interface Sent {
  messageId?: string;
  tool?: object;
  security?: object;
}

/** A request as the document has it. */
function request({ messageId = randomUUID(), tool = {}, security }: Sent = {}) {
  return {
    header: {
      version: "1.0",
      messageId,
      timestamp: "2026-01-02T03:04:05Z",
      messageType: "request",
      source: "did:agent:mcx",
      destination: "sallyport",
    },
    payload: {
      tool: { id: "echo", capability: "run", parameters: { a: 1 }, ...tool },
      context: { session_id: "s-1", request_id: "r-1", user_id: "u-1" },
      ...(security && { security }),
    },
  };
}

const send = (body: unknown) => server().ask({ path: "/v1/messages", body });

describe("an MCX request over HTTP", () => {
  it("is answered with a response that names it [MCX-4] [MCX-5]", async () => {
    const asked = request();
    const { status, body } = await send(asked);
    expect(status).toBe(200);
    expect(body.header).toMatchObject({
      messageType: "response",
      requestId: asked.header.messageId,
      source: "sallyport",
      destination: "did:agent:mcx",
    });
    expect(body.header.messageId).not.toBe(asked.header.messageId);
    expect(body.payload.tool).toEqual({ id: "echo", capability: "run" });
    const { execution } = body.payload;
    expect(execution).toMatchObject({ status: "success", result: { a: 1 } });
    expect(execution.resource_usage.memory_bytes).toBeGreaterThan(0);
    expect(execution.execution_time_ms).toBeTypeOf("number");
  });

  it("becomes a call of its source and session, under an id of the server's own [MCX-4]", async () => {
    const { header } = request();
    const { headers } = await send(request({ messageId: header.messageId }));
    const { pathname } = new URL(String(headers["content-location"]));
    expect(pathname).not.toContain(header.messageId);
    const { body } = await server().ask({ path: pathname });
    expect(body).toMatchObject({
      agent_did: "did:agent:mcx",
      session_id: "s-1",
      user_did: "u-1",
      status: "success",
    });
  });

  it.each([
    ["nothing", "run", "failure", "NOT_FOUND_ERROR", "NotFoundError"],
    ["echo", "shout", "failure", "NOT_FOUND_ERROR", "NotFoundError"],
    ["locked", "run", "failure", "SECURITY_ERROR", "SecurityError"],
    ["ledger", "run", "failure", "VALIDATION_ERROR", "ValidationError"],
    ["faulty", "throw", "failure", "EXECUTION_ERROR", "ExecutionError"],
    ["faulty", "hang", "timeout", "TIMEOUT_ERROR", "TimeoutError"],
  ])(
    "to %s %s is answered with a response that says %s %s [MCX-5] [MCX-6]",
    async (id, capability, ...due) => {
      const { status, body } = await send(request({ tool: { id, capability } }));
      expect([status, body.header.messageType]).toEqual([200, "response"]);
      const { status: ended, error } = body.payload.execution;
      expect([ended, error.code, error.details.type]).toEqual(due);
      expect(error.details).toMatchObject({ reason: expect.any(String), suggestion: expect.any(String) });
    },
  );

  it("is answered once a person has to be asked, and goes on by itself [MCX-5]", async () => {
    const file = server().path("mcx.txt");
    const tool = { id: "payment", parameters: { file, amount: 3 } };
    const { status, headers, body } = await send(request({ tool }));
    const { execution } = body.payload;
    expect([status, execution.status, execution.error.details.pending]).toEqual([202, "failure", true]);
    const path = new URL(headers.location ?? "").pathname;
    const { approval_id } = (await server().ask({ path })).body;
    await server().operator({ method: "POST", path: `/v1/approvals/${approval_id}:approve` });
    await expect.poll(async () => (await server().ask({ path })).body.status, SOON).toBe("success");
  });

  it("is answered from the record when it comes again under its key [MCX-5]", async () => {
    const headers = { "idempotency-key": "mcx-again" };
    const asked = () => server().ask({ path: "/v1/messages", body: request(), headers });
    const [first, again] = [await asked(), await asked()];
    expect([first.status, first.headers["idempotent-replayed"]]).toEqual([200, undefined]);
    expect([again.status, again.headers["idempotent-replayed"]]).toEqual([200, "true"]);
  });

  it("may have an empty token, which is none [MCX-4]", async () => {
    const { status, body } = await send(request({ security: { token: "" } }));
    expect([status, body.payload?.execution.status]).toEqual([200, "success"]);
  });

  it("under an id that is taken runs nothing [MCX-6]", async () => {
    const asked = request();
    await send(asked);
    const { body } = await send({ ...asked, payload: request({ tool: { parameters: { a: 2 } } }).payload });
    expect(body.payload.execution).toMatchObject({
      status: "failure",
      error: { details: { code: "E3905" } },
    });
  });
});

describe("what is no MCX request", () => {
  const { header, payload } = request();
  const wrongs: [what: string, message: unknown, parameter: string][] = [
    [
      "a message of another type",
      { header: { ...header, messageType: "response" }, payload },
      "header/messageType",
    ],
    ["a version of the future", { header: { ...header, version: "2.0" }, payload }, "header/version"],
    ["a time that is none", { header: { ...header, timestamp: "now" }, payload }, "header/timestamp"],
    ["no payload", { header }, "payload"],
    [
      "parameters that are a list",
      { header, payload: { ...payload, tool: { ...payload.tool, parameters: [] } } },
      "payload/tool/parameters",
    ],
    ["no context", { header, payload: { tool: payload.tool } }, "payload/context"],
  ];

  it.each(wrongs)("is answered with an error message: %s [MCX-6]", async (_what, message, parameter) => {
    const { status, body } = await send(message);
    expect([status, body.header.messageType]).toEqual([400, "error"]);
    expect(body.header).toMatchObject({ requestId: header.messageId, destination: "did:agent:mcx" });
    expect(body.error).toMatchObject({
      code: "VALIDATION_ERROR",
      details: { code: "E3903", parameter, reason: expect.any(String), suggestion: expect.any(String) },
    });
  });

  it("is refused with an error message when its token does not hold [MCX-6]", async () => {
    const { status, body } = await send(request({ security: { token: "no.token.atall" } }));
    expect([status, body.header?.messageType, body.error?.code]).toEqual([401, "error", "SECURITY_ERROR"]);
  });
});
