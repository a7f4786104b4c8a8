import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { EventReader } from "./fixtures/event-reader.ts";
import { IS_FLEET } from "./fixtures/server.ts";
import { ServerChild } from "./fixtures/server-child.ts";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

const server = sharedServer("http: { callers: token }\ntokens: { skewSeconds: 0 }\n", { withKeys: true });

/** Who has which token: the agent's name, the tool it may call, and how long. */
const WANTED = {
  any: ["did:agent:a", "*", "15m"],
  another: ["did:agent:a", "*", "14m"],
  echo: ["did:agent:a", "echo", "15m"],
  mine: ["did:agent:mine", "*", "15m"],
  yours: ["did:agent:yours", "*", "15m"],
  leaked: ["did:agent:leaky", "*", "15m"],
  brief: ["did:agent:brief", "*", "1s"],
} as const;

const tokens = new Map<string, string>();

beforeAll(async () => {
  const made = Object.entries(WANTED).map(async ([name, [agent, tool, ttl]]) => {
    const options = ["--agent", agent, "--tenant", "acme", "--tool", tool, "--ttl", ttl];
    tokens.set(name, (await server().command("token", "mint", ...options)).trim());
  });
  await Promise.all(made);
}, 180_000);

function token(name: keyof typeof WANTED): string {
  return tokens.get(name) ?? "";
}

function bearer(name: keyof typeof WANTED): Record<string, string> {
  return { authorization: `Bearer ${token(name)}` };
}

async function invoke(
  tool: string,
  parameters: object,
  { headers = {}, body = {} }: { headers?: Record<string, string>; body?: object } = {},
) {
  return await server().invoke(tool, parameters, { headers, body });
}

describe("a server that asks for tokens", () => {
  it("has who was not let in on record, in no chain that they name", async () => {
    const forged = { agent_context: { agent_did: "did:agent:a", tenant_id: "victim" } };
    const refusals = [
      await invoke("echo", {}),
      await invoke("echo", {}, { headers: { authorization: "Bearer ey.ey.x" } }),
      await invoke("echo", {}, { body: { ...forged, capability_token: "ey.ey.x" } }),
      await server().ask({ path: "/v1/messages", body: mcx() }),
      await invoke("echo", {}, { headers: bearer("any"), body: forged }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
    const chain = async (tenant: string): Promise<{ data: Record<string, unknown> }[]> => {
      const path = `/v1/audit?tenant=${tenant}`;
      const { strands } = (await server().operator({ path })).body;
      const reads = strands.map(({ strand }: { strand: number }) =>
        server().operator({ path: `${path}&strand=${strand}` }),
      );
      return (await Promise.all(reads)).flatMap(({ body }) => body.events);
    };
    expect(await chain("victim")).toEqual([]);
    const unknown = async () =>
      (await chain("sallyport"))
        .filter(({ data }) => data.state === "REFUSED")
        .map(({ data }) => (data.error as { code: string }).code)
        .toSorted();
    // Nobody waits until a refusal is on record.
    await expect.poll(unknown, SOON).toEqual(["E3201", "E3201", "E3938", "E3938"]);
    const forgery = { data: expect.objectContaining({ state: "REFUSED", claimedTenant: "victim" }) };
    expect(await chain("acme")).toContainEqual(expect.objectContaining(forgery));
    expect(server().child.logged(/was not let in/)).toHaveLength(4);
    expect((await server().operator({ path: "/v1/audit:verify" })).body.verified).toBe(true);
  });

  it("does nothing for nobody [L3-API-1]", async () => {
    const refusals = [
      await invoke("echo", {}),
      await server().ask({ path: "/v1/tools" }),
      await server().ask({ path: "/v1/tools/echo" }),
      await server().ask({ path: "/v1/invocations" }),
      await server().ask({ path: "/v1/invocations/x" }),
      await server().ask({ path: "/v1/invocations/x/events" }),
      await server().ask({ path: "/v1/invocations/x:cancel", method: "POST" }),
    ];
    for (const { status, headers, body } of refusals) {
      expect([status, body.code]).toEqual([401, "E3938"]);
      expect(headers["www-authenticate"]).toBe('Bearer realm="sallyport"');
    }
    const message = await server().ask({ path: "/v1/messages", body: mcx() });
    expect([message.status, message.body.header.messageType]).toEqual([401, "error"]);
    expect((await server().ask({ path: "/healthz" })).status).toBe(200);
  });

  it("takes a token as a header or in the body, for the agent it names [L3-API-1]", async () => {
    const byHeader = await invoke("echo", { a: 1 }, { headers: bearer("any") });
    expect([byHeader.status, byHeader.body.result]).toEqual([200, { a: 1 }]);
    const inBody = await invoke("echo", { a: 2 }, { body: { capability_token: token("any") } });
    expect([inBody.status, inBody.body.result]).toEqual([200, { a: 2 }]);
    const { body } = await server().ask({
      path: `/v1/invocations/${byHeader.body.invocation_id}`,
      headers: bearer("any"),
    });
    expect(body).toMatchObject({ agent_did: "did:agent:a", tenant_id: "acme" });
    const sent = await server().ask({ path: "/v1/messages", body: mcx({ token: token("any") }) });
    expect([sent.status, sent.body.payload?.execution.status]).toEqual([200, "success"]);
  });

  it("lets a token speak for nobody else and for no other tool", async () => {
    const agent_context = { agent_did: "did:agent:b", tenant_id: "acme" };
    const other = await invoke("echo", {}, { headers: bearer("echo"), body: { agent_context } });
    expect([other.status, other.body.status]).toEqual([401, "permission_denied"]);
    const ledger = await invoke(
      "ledger",
      { file: server().path("x"), line: "x" },
      { headers: bearer("echo") },
    );
    expect(ledger.body.status).toBe("permission_denied");
    const body = { capability_token: token("another") };
    const two = await invoke("echo", {}, { headers: bearer("any"), body });
    expect([two.status, two.body.code]).toEqual([400, "E3903"]);
  });

  it("shows an agent its own calls, and of another's not even that there are any", async () => {
    const [mine, yours] = [bearer("mine"), bearer("yours")];
    const { body } = await invoke("echo", { secret: 1 }, { headers: mine });
    const path = `/v1/invocations/${body.invocation_id}`;
    expect((await server().ask({ path, headers: mine })).status).toBe(200);
    for (const more of ["", "/result", "/events"]) {
      const seen = await server().ask({ path: `${path}${more}`, headers: yours });
      const never = await server().ask({ path: `/v1/invocations/${"0".repeat(36)}${more}`, headers: yours });
      expect([seen.status, seen.body.code]).toEqual([404, "E3917"]);
      expect(seen.body.title).toBe(never.body.title);
    }
    const cancel = await server().ask({ method: "POST", path: `${path}:cancel`, headers: yours });
    expect([cancel.status, cancel.body.code]).toEqual([404, "E3917"]);
    const listed = await server().ask({ path: "/v1/invocations", headers: yours });
    expect(JSON.stringify(listed.body)).not.toContain(body.invocation_id);
    const asked = await server().ask({ path: "/v1/invocations?agent=did:agent:mine", headers: yours });
    expect(asked.body.invocations).toEqual([]);
    expect((await server().operator({ path })).status).toBe(200);
  });

  it("tells an agent of no tool that nothing lets it use", async () => {
    const headers = bearer("echo");
    const { body } = await server().ask({ path: "/v1/tools", headers });
    expect(body.tools.map(({ tool_id }: { tool_id: string }) => tool_id)).toEqual(["echo"]);
    const hidden = await server().ask({ path: "/v1/tools/payment", headers });
    const none = await server().ask({ path: "/v1/tools/nothing", headers });
    expect([hidden.status, hidden.body.code]).toEqual([none.status, none.body.code]);
  });

  it("keeps management from agents", async () => {
    const headers = bearer("any");
    for (const path of ["/v1/approvals", "/v1/grants", "/v1/audit", "/v1/audit:verify"])
      expect(await server().ask({ path, headers })).toMatchObject({ status: 403, body: { code: "E3940" } });
    const { status } = await server().ask({ path: "/v1/config:reload", method: "POST", headers });
    expect(status).toBe(403);
  });

  it("refuses a token from the moment it is revoked, also for what runs on it", async () => {
    const gate = server().path("revoked.gate");
    const { body } = await invoke(
      "courier",
      { gate },
      { headers: { ...bearer("leaked"), prefer: "respond-async" } },
    );
    const path = `/v1/invocations/${body.invocation_id}`;
    const reader = await EventReader.open(server().url, `${path}/events`);
    expect(reader.status).toBe(401);
    reader.cut();
    const revoked = await server().operator({
      path: "/v1/tokens:revoke",
      body: { token: token("leaked"), reason: "leaked" },
    });
    expect(revoked.status).toBe(200);
    const again = () => invoke("echo", {}, { headers: bearer("leaked") });
    // The other process of a fleet hears of it by the bus.
    const both = async () => (await Promise.all([again(), again()])).map(({ status }) => status);
    if (IS_FLEET) await expect.poll(both, SOON).toEqual([401, 401]);
    const after = await again();
    expect([after.status, after.body.code]).toEqual([401, "E3208"]);
    expect(after.headers["www-authenticate"]).toContain('error="invalid_token"');
    await expect
      .poll(async () => (await server().operator({ path })).body.status, SOON)
      .toBe("permission_denied");
    expect((await server().operator({ path })).body.error.details.code).toBe("E3217");
  });

  it("refuses a token that has expired", async () => {
    const call = async () => await invoke("echo", {}, { headers: bearer("brief") });
    await expect.poll(async () => (await call()).status, SOON).toBe(401);
    expect((await call()).body.code).toBe("E3202");
  });

  it("lets operators call without a token", async () => {
    const { status, body } = await server().operator({
      path: "/v1/tools/invoke",
      body: { tool_id: "echo", parameters: {} },
    });
    expect([status, body.status]).toEqual([200, "success"]);
  });
});

function mcx(security?: object): object {
  return {
    header: {
      version: "1.0",
      messageId: `m-${Math.random()}`,
      timestamp: "2026-01-02T03:04:05Z",
      messageType: "request",
      source: "did:agent:a",
      destination: "sallyport",
    },
    payload: {
      tool: { id: "echo", capability: "run", parameters: {} },
      context: { session_id: "s", request_id: "r" },
      ...(security && { security }),
    },
  };
}

describe("a server that others could reach", () => {
  it.each(["0.0.0.0", "example.com"])("does not open at %s without asking for tokens", async (host) => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-wide-"));
    try {
      writeFileSync(join(folder, "sallyport.yaml"), `http: { host: "${host}" }\n`);
      const server = new ServerChild(folder);
      await expect(server.opened()).rejects.toThrow(/E3919.*http\.callers/s);
      const { code, left } = await server.ended();
      expect({ code, left }).toEqual({ code: 2, left: [] });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
