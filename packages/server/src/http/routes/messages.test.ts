import { grantAuthority } from "@sallyport/engine";
import { decode, failure, mcxErrorField } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { type Ask, agent, OPERATOR, ORIGIN } from "./fixtures/ask.ts";
import { type FixtureDoor, GRANTS, plainEngine, SUM } from "./fixtures/door.ts";
import { opening } from "./fixtures/opening.ts";
import type { RouteContext } from "./parts.ts";

const openDoor = opening();

async function open(parts: Partial<RouteContext> = {}): Promise<FixtureDoor> {
  return await openDoor([SUM], { parts });
}

function message({
  parameters = { a: 2, b: 3 } as object,
  security = {},
  source = "http",
  messageId = "m-1",
} = {}) {
  return {
    header: {
      version: "1.0",
      messageId,
      timestamp: "2026-01-02T03:04:05Z",
      messageType: "request",
      source,
      destination: "sallyport",
    },
    payload: {
      tool: { id: "sum", capability: "run", parameters },
      context: { session_id: "s-1", request_id: "r-1" },
      security,
    },
  };
}

async function sent(ask: Ask, body: unknown) {
  const { status, json } = await ask("sendMessage", { body });
  return { status, header: Object(json.header), payload: Object(json.payload), error: json.error };
}

describe("POST /v1/messages", () => {
  it("runs a request and answers with a response [MCX-4] [MCX-5]", async () => {
    const { ask } = await open();
    const { status, header, payload } = await sent(ask, message());
    expect(status).toBe(200);
    expect(header).toMatchObject({ messageType: "response", requestId: "m-1", destination: "http" });
    expect(payload).toMatchObject({
      tool: { id: "sum", capability: "run" },
      execution: { status: "success", result: { sum: 5 } },
    });
  });

  it("answers as the server that was addressed [MCX-5] [MCX-6]", async () => {
    const { ask } = await open();
    const addressed = (body: ReturnType<typeof message>) => ({
      ...body,
      header: { ...body.header, destination: "mcp-server" },
    });
    expect((await sent(ask, addressed(message()))).header.source).toBe("mcp-server");
    expect((await sent(ask, { ...addressed(message()), payload: 1 })).header.source).toBe("mcp-server");
    expect((await sent(ask, [])).header.source).toBe("sallyport");
  });

  it.each([
    ["no list", { requiredCapabilities: ["state.read"] }, undefined, undefined],
    ["nothing for a tool that needs nothing", {}, [], undefined],
    ["what the tool needs", { requiredCapabilities: ["state.read"] }, ["state.read", "x"], undefined],
    ["nothing", { requiredCapabilities: ["state.read"] }, [], ["state.read"]],
    ["something else", { requiredCapabilities: ["state.read"] }, ["state", "state.write"], ["state.read"]],
    ["no network", { permissions: { network: [{ host: "e.com" }] } }, ["state.read"], ["network.*"]],
    ["the network", { permissions: { network: [{ host: "e.com" }] } }, ["network.https"], undefined],
    [
      "no files",
      { permissions: { filesystem: [{ path: "/tmp", mode: "rw" }] } },
      ["filesystem.read"],
      ["filesystem.write"],
    ],
  ])(
    "bounds a call by permissions that name %s [MCX-1] [MCX-4] [MCX-8]",
    async (_name, manifest, permissions, missing) => {
      let ran = 0;
      const run = () => {
        ran += 1;
        return { sum: 5 };
      };
      const authority = grantAuthority(GRANTS.map((grant) => ({ ...grant, capabilities: ["state.read"] })));
      const { ask } = await openDoor([{ ...SUM, run, manifest }], { engine: { authority } });
      const { payload } = await sent(ask, message({ security: { permissions } }));
      expect(payload.execution.error).toEqual(
        missing &&
          expect.objectContaining({
            code: "SECURITY_ERROR",
            details: expect.objectContaining({ code: "E3228", missing }),
          }),
      );
      expect(ran).toBe(missing ? 0 : 1);
    },
  );

  it("answers a failed execution with a response too [MCX-5]", async () => {
    const { ask } = await open();
    const { status, payload } = await sent(ask, message({ parameters: {} }));
    expect([status, payload.execution.status]).toEqual([200, "failure"]);
    expect(payload.execution.error).toMatchObject({ code: "VALIDATION_ERROR", details: { code: "E3901" } });
  });

  it("answers a request that a person has to approve with where to ask [MCX-5]", async () => {
    const { ask } = await openDoor([{ ...SUM, manifest: { requiresApproval: true } }]);
    const reply = await ask("sendMessage", { body: message() });
    expect(reply.status).toBe(202);
    expect(reply.headers?.location).toMatch(new RegExp(`^${ORIGIN}/v1/invocations/mcx-[0-9a-f]{64}$`));
    expect(Object(reply.json.payload).execution).toMatchObject({
      status: "failure",
      error: { details: { pending: true } },
    });
  });

  it("is one call for each agent and message, and says nothing of another's [MCX-4]", async () => {
    const { ask } = await open();
    const statusOf = async (body: object) => (await sent(ask, body)).payload.execution;
    expect(await statusOf(message({ source: "bob" }))).toMatchObject({ status: "success" });
    expect(await statusOf(message({ source: "eve" }))).toMatchObject({ status: "success" });
    const again = await statusOf(message({ source: "bob" }));
    expect(again).toMatchObject({ status: "failure", error: { details: { code: "E3905" } } });
  });

  it("takes every id that the envelope allows, and says which call it became [MCX-4]", async () => {
    const { ask } = await open();
    const messageId = "m".repeat(500);
    const reply = await ask("sendMessage", { body: message({ messageId }) });
    expect(reply).toMatchObject({ status: 200, json: { header: { requestId: messageId } } });
    const invocation_id = String(reply.headers?.["content-location"]).split("/").at(-1) ?? "";
    const found = await ask("getInvocation", { params: { invocation_id } });
    expect(found.json).toMatchObject({ status: "success", tool_id: "sum" });
  });

  it.each([
    ["nothing", undefined],
    ["no object", [1]],
    ["no envelope", {}],
    ["a response", { ...message(), header: { ...message().header, messageType: "response" } }],
  ])("answers %s with an error message [MCX-6]", async (_what, body) => {
    const { ask } = await open();
    const reply = await ask("sendMessage", { body });
    expect(reply.status).toBe(400);
    expect(decode(reply.json, mcxErrorField).ok).toBe(true);
    expect(reply.json).toMatchObject({
      header: { messageType: "error" },
      error: { code: "VALIDATION_ERROR", details: { code: "E3903" } },
    });
  });

  it("names the request it refuses, when that could be read [MCX-6]", async () => {
    const { ask } = await open();
    const { header } = await sent(ask, { ...message(), payload: 1 });
    expect(header).toMatchObject({ requestId: "m-1", destination: "http" });
  });

  it("asks for a token in the envelope's own words, and takes it from the message [MCX-6]", async () => {
    const recognise = (token: string) => (token === "token-of-bob" ? agent("bob") : failure("E3202"));
    const { ask, parts } = await open({ callers: "token", recognise });
    const none = await sent(ask, message());
    expect(none).toMatchObject({
      status: 401,
      error: { code: "SECURITY_ERROR", details: { code: "E3938" } },
    });
    const unnamed = await ask("sendMessage", { body: message() });
    expect(unnamed.headers).toEqual({ "www-authenticate": 'Bearer realm="sallyport"' });
    const bad = await sent(ask, message({ security: { token: "bad" } }));
    expect(bad).toMatchObject({ status: 401, error: { details: { code: "E3202" } } });
    const plain = plainEngine(parts);
    let caller: unknown;
    parts.engine = {
      ...plain,
      call: (request) => {
        caller = request.caller;
        return plain.call(request);
      },
    };
    await sent(ask, message({ security: { token: "token-of-bob" }, source: "bob" }));
    expect(caller).toEqual({ tenant: "acme", agent: "bob", session: "s-1" });
  });

  it("takes an empty token for none [MCX-4]", async () => {
    const { ask } = await open();
    const { status, payload } = await sent(ask, message({ security: { token: "" } }));
    expect([status, payload.execution?.status]).toEqual([200, "success"]);
    const asking = await open({ callers: "token" });
    expect(await sent(asking.ask, message({ security: { token: "" } }))).toMatchObject({
      status: 401,
      error: { details: { code: "E3938" } },
    });
  });

  it("names places as the message has them [MCX-6]", async () => {
    const { ask } = await open({ callers: "token" });
    const body = message({ security: { token: "another" } });
    const shown = await ask("sendMessage", { body, principal: agent("bob") });
    expect(shown.json.error).toMatchObject({ details: { parameter: "payload/security/token" } });
    const operator = await ask("sendMessage", { body, principal: OPERATOR });
    expect(operator.status).toBe(400);
    expect(operator.json.error).toMatchObject({ details: { parameter: "payload/security/token" } });
    expect(JSON.stringify([shown.json, operator.json])).not.toMatch(/capability_token|agent_context/);
  });

  it("says when the answer comes from the record [MCX-5]", async () => {
    const { ask } = await open();
    const asked = { headers: { "idempotency-key": "k-1" } };
    const first = await ask("sendMessage", { ...asked, body: message({ messageId: "m-1" }) });
    const again = await ask("sendMessage", { ...asked, body: message({ messageId: "m-2" }) });
    expect(first.headers).not.toHaveProperty("idempotent-replayed");
    expect(again).toMatchObject({ status: 200, headers: { "idempotent-replayed": "true" } });
  });
});
