import { completePolicies } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { Principal } from "../principal.ts";
import { asking, OPERATOR } from "./fixtures/ask.ts";
import type { FixtureDoor } from "./fixtures/door.ts";
import { opening } from "./fixtures/opening.ts";
import { healthRoutes } from "./health.ts";
import type { ReadinessCheck, RouteContext } from "./parts.ts";

const openDoor = opening();

async function open(parts: Partial<RouteContext> = {}): Promise<FixtureDoor> {
  return await openDoor([], { parts });
}

describe("/healthz and /readyz", () => {
  it("say that the process answers, and that calls can be taken", async () => {
    const { ask } = await open({ checks: [{ name: "store", check: () => undefined }] });
    expect(await ask("getHealth")).toMatchObject({
      status: 200,
      json: { status: "ok", version: "0.0.0", store: "embedded" },
    });
    expect(await ask("getReadiness")).toMatchObject({
      status: 200,
      json: { status: "ready", checks: [{ name: "store", ok: true }] },
    });
  });

  it("say what is missing, also when a check fails or never answers", async () => {
    const checks: ReadinessCheck[] = [
      { name: "store", check: async () => "it is read-only" },
      { name: "policy", check: () => Promise.reject(new Error("secret inside")) },
      {
        name: "keys",
        check: () => {
          throw new Error("secret inside");
        },
      },
      { name: "sink", check: () => new Promise(() => undefined) },
      { name: "tools", check: () => undefined },
    ];
    const { parts } = await open({ checks });
    const ask = asking(healthRoutes(parts, { checkMs: 10 }));
    const { status, json, headers } = await ask("getReadiness");
    expect([status, json.status, headers]).toEqual([503, "not_ready", { "retry-after": "5" }]);
    expect(json.checks).toEqual([
      { name: "store", ok: false, problem: "it is read-only" },
      { name: "policy", ok: false, problem: "failed" },
      { name: "keys", ok: false, problem: "failed" },
      { name: "sink", ok: false, problem: "did not answer within 10 ms" },
      { name: "tools", ok: true },
    ]);
  });
});

it("/readyz tells where workers are only to those who may know all", async () => {
  const domain = { id: "d", version: "1", folder: "/", policies: completePolicies({}), tools: [] };
  const workers = () => [{ baseUrl: "http://inside:8080", state: "up" as const, tools: ["a.tool"] }];
  const gateway = { domain, tool: () => undefined, health: () => () => undefined, workers };
  const told = async (callers: "open" | "token", principal?: Principal) => {
    const { ask } = await open({ gateway, callers });
    return (await ask("getReadiness", principal && { principal })).json.domain;
  };
  const all = { domain_id: "d", workers: [{ worker: "http://inside:8080", tools: ["a.tool"] }] };
  expect(await told("open")).toMatchObject(all);
  expect(await told("token", OPERATOR)).toMatchObject(all);
  expect(await told("token")).toEqual({ domain_id: "d", version: "1", workers: [] });
});

describe("/metrics", () => {
  it("is there when there are readings, for whom the server says [R1-8.2]", async () => {
    const metrics = { render: () => "up 1\n", access: "operator" as const };
    const { ask, routes } = await open({ metrics });
    expect(await ask("getMetrics")).toMatchObject({ status: 200, content: "up 1\n" });
    expect(routes.find(({ id }) => id === "getMetrics")?.access).toBe("operator");
    expect((await open()).routes.some(({ id }) => id === "getMetrics")).toBe(false);
  });
});

describe("/openapi.json and /docs", () => {
  it("describe every route there is, those of other modules too", async () => {
    const { ask, routes } = await open();
    const document = JSON.parse(String((await ask("getOpenApi")).content));
    expect(Object.keys(document.paths)).toEqual([...new Set(routes.map(({ path }) => path))]);
    const page = String((await ask("readDocs")).content);
    for (const { id } of routes) expect(page).toContain(`id="${id}"`);
  });

  it("are what the bare address leads to", async () => {
    const { ask } = await open();
    expect(await ask("openDocs")).toMatchObject({ status: 303, headers: { location: "/docs" } });
  });

  it("show a call that this server can take, where anybody may know of it", async () => {
    const example = async () => ({ tool: "greet", operation: "run", input: { name: "ann" } });
    const page = async (parts: Partial<RouteContext>) => {
      const { ask } = await open(parts);
      return String((await ask("readDocs")).content).replaceAll("&quot;", '"');
    };
    const shown = await page({ example });
    expect(shown).toContain('{"tool_id":"greet","operation":"run","parameters":{"name":"ann"}}');
    expect(shown).toContain('"tool":{"id":"greet","capability":"run","parameters":{"name":"ann"}}');
    for (const parts of [{}, { example, callers: "token" as const }, { example: async () => undefined }])
      expect(await page(parts)).toContain('{"tool_id":"TOOL_ID","parameters":{}}');
  });

  it("have an entry for every error code, where problems point to", async () => {
    const { ask } = await open();
    expect(String((await ask("readErrors")).content)).toContain('id="E3903"');
  });
});
