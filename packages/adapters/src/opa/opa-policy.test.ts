import type { PolicyVerdict } from "@sallyport/engine/ports";
import type { JsonValue } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answer, type Behave, opaBehaviour, PolicyDouble } from "./fixtures/policy-double.ts";
import { REQUEST } from "./fixtures/request.ts";
import { createOpaPolicy, type OpaOptions } from "./opa-policy.ts";

let double: PolicyDouble;
let base = "";
beforeEach(async () => {
  double = new PolicyDouble(() => undefined);
  base = await double.start();
});
afterEach(() => double.stop());

async function decide(behave: Behave, options: OpaOptions = {}): Promise<PolicyVerdict> {
  double.behave = behave;
  const endpoint = `${base}/v1/data/tool_execution/allow`;
  return await createOpaPolicy({ endpoint, timeoutMs: 20_000, ...options }).decide(REQUEST);
}

const saying = (result: JsonValue | undefined) => opaBehaviour({ "tool_execution/allow": () => result });

describe("OPA's answers, from a double of its data API [L3-PRM-2]", () => {
  it("asks about the whole call, by the documented address and body", async () => {
    await decide(saying(true), { headers: { authorization: "Bearer for-opa" } });
    const [asked] = double.asked;
    expect(asked?.path).toBe("/v1/data/tool_execution/allow");
    expect(asked?.headers).toMatchObject({
      "content-type": "application/json",
      authorization: "Bearer for-opa",
    });
    expect(asked?.body).toEqual({
      input: {
        agent_did: "did:agent:7",
        tenant_id: "acme",
        user_id: "ann",
        user_verified: false,
        tool_id: "mail.send",
        tool_version: "2.1.0",
        operation: "send",
        category: "external_api",
        tags: ["mail"],
        source_type: "native",
        security_level: 3,
        risk: "high",
        side_effects: "external",
        capabilities: ["network.tcp"],
        isolation_level: "LEVEL_1",
        unheld_limits: ["cpu"],
        manifest_hash: "abc",
        filesystem_paths: ["/srv/outbox"],
        filesystem: [{ path: "/srv/outbox", mode: "rw" }],
        network_endpoints: ["smtp.example.com:587", "dns.example.com"],
        credentials: ["smtp-password"],
        parameters: { to: "bob@example.com" },
        requested_at: "2026-01-07T12:00:00.000Z",
      },
    });
  });

  it.each<[string, JsonValue | undefined, Partial<PolicyVerdict>]>([
    ["true", true, { outcome: "allow", tier: "organisation", rules: [] }],
    ["false", false, { outcome: "deny", code: "E3225" }],
    ["nothing, because the document is undefined", undefined, { outcome: "deny", cacheMs: 0 }],
    [
      "allow",
      { allow: true, reason: "fine", rule: "r1", rules: ["r2"] },
      { outcome: "allow", reason: "fine", rules: ["r1", "r2"] },
    ],
    ["no allow", { allow: false, reason: "no" }, { outcome: "deny", reason: "no", code: "E3225" }],
    ["allow but ask", { allow: true, ask: true }, { outcome: "ask" }],
    ["ask without an allow", { allow: false, ask: true }, { outcome: "deny" }],
    ["allow and a deny", { allow: true, deny: true }, { outcome: "deny" }],
    ["allow and reasons to deny", { allow: true, deny: ["a", "b"] }, { outcome: "deny", reason: "a; b" }],
    ["allow and no reason to deny", { allow: true, deny: [] }, { outcome: "allow" }],
    ["an outcome", { outcome: "ask", unlock: "ask ann" }, { outcome: "ask", unlock: "ask ann" }],
    ["an outcome against its allow", { outcome: "deny", allow: true }, { outcome: "deny" }],
    ["a file denied", { allow: false, code: "filesystem" }, { code: "E3203" }],
    ["a host denied", { allow: false, code: "network" }, { code: "E3204" }],
    ["a credential denied", { allow: false, code: "credentials" }, { code: "E3205" }],
    ["a time to live", { allow: true, cache_ttl_seconds: 60 }, { cacheMs: 60_000 }],
    ["a version", { allow: true, policy_version: "7" }, { policyVersion: "opa:7" }],
    ["more than it has to", { allow: true, helper: { x: 1 } }, { outcome: "allow" }],
  ])("understands %s", async (_what, result, wanted) => {
    expect(await decide(saying(result))).toMatchObject(wanted);
  });

  it.each<[string, JsonValue]>([
    ["a text", "yes"],
    ["a number", 1],
    ["null", null],
    ["a list", [true]],
    ["an empty object", {}],
    ["an allow that is no boolean", { allow: "true" }],
    ["an ask that is no boolean", { allow: true, ask: 1 }],
    ["an unknown outcome", { outcome: "permit" }],
    ["reasons that are none", { allow: true, deny: [1] }],
    ["a reason that is none", { allow: true, reason: 5 }],
    ["a time to live that is none", { allow: true, cache_ttl_seconds: "60" }],
    ["a time to live in the past", { allow: true, cache_ttl_seconds: -1 }],
  ])("rejects %s, so that the engine denies (E3206)", async (_what, result) => {
    await expect(decide(saying(result))).rejects.toThrow(/E3206.*makes no sense/);
  });

  it("keeps what goes on record short and whole", async () => {
    const { reason, rules } = await decide(
      saying({ allow: true, reason: "\ud800".repeat(2_000), rules: Array(500).fill("r") }),
    );
    expect(reason.isWellFormed()).toBe(true);
    expect([reason.length, rules.length]).toEqual([1_000, 100]);
  });
});

describe("OPA in trouble, played by the double: always a rejection (E3206) [L3-PRM-2]", () => {
  const body = JSON.stringify({ result: true });
  const json = { "content-type": "application/json" };

  it.each<[string, Behave, RegExp]>([
    [
      "an error of OPA's own",
      (response) => answer(response, 500, { code: "internal_error", message: "x" }),
      /answered 500/,
    ],
    [
      "two answers in one",
      (response) =>
        response.writeHead(200, { "content-type": "application/json" }).end('{"result":false,"result":true}'),
      /names a member twice/,
    ],
    [
      "a bad request",
      (response) => answer(response, 400, { code: "invalid_parameter", message: "x" }),
      /answered 400/,
    ],
    ["another success than 200", (response) => answer(response, 203, { result: true }), /answered 203/],
    ["no content", (response) => response.writeHead(204).end(), /answered 204/],
    [
      "a redirect",
      (response) => response.writeHead(307, { location: "/v1/data/elsewhere" }).end(),
      /could not be asked/,
    ],
    [
      "another content type",
      (response) => response.writeHead(200, { "content-type": "text/html" }).end(body),
      /not JSON/,
    ],
    ["no content type", (response) => response.writeHead(200).end(body), /not JSON/],
    ["broken JSON", (response) => response.writeHead(200, json).end('{"result": tru'), /could not be asked/],
    [
      "bytes that are no text",
      (response) => response.writeHead(200, json).end(Buffer.from([0x22, 0xff, 0x22])),
      /could not be asked/,
    ],
    ["no object", (response) => response.writeHead(200, json).end("true"), /makes no sense/],
    [
      "more than a mebibyte",
      (response) => response.writeHead(200, json).end(`{"result":true,"x":"${"y".repeat(1_100_000)}"}`),
      /more than/,
    ],
    [
      "an answer cut short",
      (response) => {
        response.writeHead(200, { ...json, "content-length": "100" });
        response.write(body);
        setTimeout(() => response.destroy(), 20);
      },
      /could not be asked/,
    ],
    ["a connection that breaks", (response) => response.destroy(), /could not be asked/],
  ])("%s", async (_what, behave, message) => {
    await expect(decide(behave)).rejects.toThrow(message);
    await expect(decide(behave)).rejects.toMatchObject({ failure: { code: "E3206" } });
  });

  it("does not follow a redirect, not even to an allow", async () => {
    const redirecting: Behave = (response, { path }) =>
      path.endsWith("elsewhere")
        ? answer(response, 200, { result: true })
        : response.writeHead(307, { location: "/elsewhere" }).end();
    await expect(decide(redirecting)).rejects.toThrow(/E3206/);
    expect(double.asked).toHaveLength(1);
  });

  it("waits no longer than it may, and really closes the request", async () => {
    const started = performance.now();
    await expect(decide(() => undefined, { timeoutMs: 1_500 })).rejects.toThrow(/within 1500 ms/);
    expect(performance.now() - started).toBeLessThan(15_000);
    await expect.poll(() => double.abandoned).toBe(1);
  });

  it("counts the time of a body that never ends, too", async () => {
    const trickling: Behave = (response) => {
      response.writeHead(200, json);
      response.write('{"result": ');
    };
    await expect(decide(trickling, { timeoutMs: 1_500 })).rejects.toThrow(/within 1500 ms/);
    await expect.poll(() => double.abandoned).toBe(1);
  });

  it("takes an answer that is slow but in time", async () => {
    const slow: Behave = (response) => setTimeout(() => answer(response, 200, { result: true }), 100);
    expect(await decide(slow, { timeoutMs: 30_000 })).toMatchObject({ outcome: "allow" });
  });

  it("rejects when nobody is there", async () => {
    await double.stop();
    await expect(decide(saying(true))).rejects.toThrow(/could not be asked: .*ECONNREFUSED/);
  });

  it("is told at once that an endpoint is no URL", () => {
    expect(() => createOpaPolicy({ endpoint: "opa" })).toThrow(/URL/);
  });
});
