import type { PolicyVerdict } from "@sallyport/engine/ports";
import type { JsonValue } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answer, PolicyDouble } from "../opa/fixtures/policy-double.ts";
import { REQUEST } from "../opa/fixtures/request.ts";
import { createAbacPolicy } from "./abac-policy.ts";

let double: PolicyDouble;
let baseUrl = "";
beforeEach(async () => {
  double = new PolicyDouble(() => undefined);
  baseUrl = await double.start();
});
afterEach(() => double.stop());

async function decide(body: JsonValue, { under = "", timeoutMs = 20_000 } = {}): Promise<PolicyVerdict> {
  double.behave = (response) => answer(response, 200, body);
  return await createAbacPolicy({ baseUrl: `${baseUrl}${under}`, timeoutMs }).decide(REQUEST);
}

describe("the ABAC service, played by a double of its documented endpoint [L3-PRM-2]", () => {
  it("is asked whether the agent may execute the tool, without the call's arguments", async () => {
    await decide({ allowed: true });
    const [asked] = double.asked;
    expect(asked?.path).toBe("/api/v1/abac/check-permission");
    expect(asked?.body).toMatchObject({
      agent_id: "did:agent:7",
      resource_type: "tool",
      resource_id: "mail.send",
      action: "execute",
      context: {
        tenant_id: "acme",
        filesystem_paths: ["/srv/outbox"],
        network_endpoints: ["smtp.example.com:587", "dns.example.com"],
        credentials: ["smtp-password"],
      },
    });
    expect(JSON.stringify(asked?.body)).not.toContain("bob@example.com");
  });

  it("may live under a path", async () => {
    await decide({ allowed: true }, { under: "/data" });
    await decide({ allowed: true }, { under: "/data/" });
    expect(double.asked.map(({ path }) => path)).toEqual(Array(2).fill("/data/api/v1/abac/check-permission"));
  });

  it.each<[JsonValue, Partial<PolicyVerdict>]>([
    [{ allowed: true }, { outcome: "allow", cacheMs: 300_000, tier: "organisation" }],
    [
      { allowed: false, reason: "policy-9" },
      { outcome: "deny", reason: "policy-9", code: "E3225" },
    ],
    [
      { allowed: false, reason: null },
      { outcome: "deny", reason: "the ABAC service denies it" },
    ],
    [{ allowed: true, cache_ttl_seconds: 0 }, { cacheMs: 0 }],
    [{ allowed: true, cache_ttl_seconds: 60 }, { cacheMs: 60_000 }],
  ])("understands %j [L3-PRM-3]", async (body, wanted) => {
    expect(await decide(body)).toMatchObject(wanted);
  });

  it.each<[JsonValue]>([
    [{}],
    [{ allowed: "true" }],
    [{ allowed: 1 }],
    [true],
    [null],
    [{ allowed: true, reason: {} }],
    [{ allowed: true, cache_ttl_seconds: "long" }],
  ])("rejects %j, so that the engine denies (E3206)", async (body) => {
    await expect(decide(body)).rejects.toThrow(/E3206/);
  });

  it("has half a second, and its request is closed after that", async () => {
    double.behave = () => undefined;
    const started = performance.now();
    await expect(createAbacPolicy({ baseUrl }).decide(REQUEST)).rejects.toThrow(/within 500 ms/);
    expect(performance.now() - started).toBeLessThan(15_000);
    await expect.poll(() => double.abandoned).toBe(1);
  });

  it("denies by rejecting when it answers an error or is not there", async () => {
    double.behave = (response) => answer(response, 503, { error: "down" });
    const policy = createAbacPolicy({ baseUrl, timeoutMs: 20_000 });
    await expect(policy.decide(REQUEST)).rejects.toThrow(/answered 503/);
    await double.stop();
    await expect(policy.decide(REQUEST)).rejects.toThrow(/ECONNREFUSED/);
  });
});
