import { writeFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, it } from "vitest";
import { GeneratedClient, type Sdk } from "./fixtures/generated-client.ts";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

const server = sharedServer();

describe("the description of the API", () => {
  it("is valid OpenAPI 3.1", async () => {
    const { headers, body } = await server().ask({ path: "/openapi.json" });
    expect(headers["content-type"]).toMatch(/^application\/json/);
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(body));
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
    expect(validator.version).toBe("3.1");
  });

  it("names every operation once, and everything it refers to", async () => {
    const { body } = await server().ask({ path: "/openapi.json" });
    const operations = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>);
    const ids = operations.flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
    expect(new Set(ids).size).toBe(ids.length);
    const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    const unknown = references
      .map(([, name = ""]) => name)
      .filter((name) => !(name in body.components.schemas));
    expect(unknown).toEqual([]);
  });

  it("is also a page to read, with every operation and every error on it", async () => {
    const { body, headers } = await server().ask({ path: "/docs" });
    expect(headers["content-type"]).toMatch(/^text\/html/);
    for (const path of Object.keys(server().described.document.paths)) expect(body).toContain(path);
    expect((await server().ask({ path: "/docs/errors" })).body).toContain('id="E3903"');
  });

  it("is where the bare address leads, and shows a call that this server takes", async () => {
    const bare = await server().ask({ path: "/" });
    expect([bare.status, bare.headers.location]).toEqual([303, "/docs"]);
    const page: string = (await server().ask({ path: "/docs" })).body;
    const [line = ""] = page.replaceAll("&quot;", '"').match(/\{"tool_id":.*\}(?=&#39;)/) ?? [];
    expect(page).not.toContain("calculator");
    const headers = { prefer: "respond-async" };
    const tried = await server().ask({ path: "/v1/tools/invoke", body: JSON.parse(line), headers });
    expect(tried.status).toBe(202);
    const path = `/v1/invocations/${tried.body.invocation_id}:cancel`;
    expect((await server().ask({ method: "POST", path })).status).toBe(200);
  });
});

describe("a client that a public generator makes of it", () => {
  let sdk: Sdk;
  let client: object;
  let operator: object;

  beforeAll(async () => {
    const generated = new GeneratedClient(server().folder);
    await generated.make(server().described.document);
    expect(await generated.complaints()).toBe("");
    ({ sdk, client } = await generated.load({ baseUrl: server().url }));
    ({ client: operator } = await generated.load({ baseUrl: server().url, key: server().operatorKey }));
  }, 180_000);

  const until = async (invocation_id: string, status: string) => {
    const look = () => sdk.getInvocation?.({ client, path: { invocation_id } });
    await expect.poll(async () => (await look())?.data.status, SOON).toBe(status);
  };

  it("calls a tool [L3-API-1]", async () => {
    const called = await sdk.invokeTool?.({ client, body: { tool_id: "echo", parameters: { a: 1 } } });
    expect(called?.response.status).toBe(200);
    expect(called?.data).toMatchObject({ status: "success", result: { a: 1 } });
    const failed = await sdk.invokeTool?.({ client, body: { tool_id: "nothing", parameters: {} } });
    expect(failed?.error).toMatchObject({ status: "error", error: { code: "tool_not_found" } });
    const refused = await sdk.invokeTool?.({ client, body: { tool_id: 7 } });
    expect(refused?.error).toMatchObject({ code: "E3903", status: 400 });
  });

  it("calls a tool and does not wait, watches it, and fetches the result [L3-EXE-5]", async () => {
    const gate = server().path("client.gate");
    const body = { tool_id: "courier", parameters: { gate }, execution_options: { async_mode: true } };
    const { data } = (await sdk.invokeTool?.({ client, body })) ?? {};
    const path = { invocation_id: data.invocation_id };
    const { stream } = await sdk.watchInvocation({ client, path });
    writeFileSync(gate, "");
    const seen: unknown[] = [];
    for await (const event of stream) seen.push(event);
    expect(seen).toContainEqual(expect.objectContaining({ phase: "delivering" }));
    expect(seen.at(-1)).toMatchObject({ status: "success" });
    const result = await sdk.getInvocationResult?.({ client, path });
    expect(result?.data.result).toEqual({ delivered: true });
  });

  it("lists tools, with a list in the query [L3-API-2]", async () => {
    const query = { tags: ["quick", "plain"], page_size: 5 };
    const { data } = (await sdk.listTools?.({ client, query })) ?? {};
    expect(data).toMatchObject({ total_count: 1, page_size: 5, tools: [{ tool_id: "echo" }] });
    const one = await sdk.getTool?.({ client, path: { tool_id: "echo" } });
    expect(one?.data.current.version).toBe("1.0.0");
  });

  it("cancels a call [L3-API-2]", async () => {
    const body = {
      tool_id: "courier",
      parameters: { gate: server().path("never.gate") },
      execution_options: { async_mode: true },
    };
    const { data } = (await sdk.invokeTool?.({ client, body })) ?? {};
    const path = { invocation_id: data.invocation_id };
    const cancelled = await sdk.cancelInvocation?.({ client, path, body: { reason: "enough" } });
    expect(cancelled?.data.cancelled).toBe(true);
    await until(data.invocation_id, "cancelled");
  });

  it("answers approvals and checks the audit with the operator key", async () => {
    const parameters = { file: server().path("client.txt"), amount: 5 };
    const { data } = (await sdk.invokeTool?.({ client, body: { tool_id: "payment", parameters } })) ?? {};
    expect((await sdk.listApprovals?.({ client }))?.response.status).toBe(401);
    const { data: listed } = (await sdk.listApprovals?.({ client: operator })) ?? {};
    const [{ approval_id }] = listed.approvals;
    const body = { comment: "by a generated client" };
    const approved = await sdk.approve?.({ client: operator, path: { approval_id }, body });
    expect(approved?.response.status).toBe(200);
    await until(data.invocation_id, "success");
    const audit = await sdk.verifyAudit?.({ client: operator });
    expect(audit?.data.verified).toBe(true);
  });
});
