import { generateKeyPairSync } from "node:crypto";
import { keySetOf, mintToken, TokenChecker } from "@sallyport/engine";
import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { OPERATOR_KEY, openTestDoor, type TestDoor } from "../kernel/fixtures/test-door.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const keys = keySetOf([{ kid: "runtime", publicKey, issuers: ["sallyport"] }]);
if (isFailure(keys)) throw new Error(keys.message);
const TOKENS = { checker: new TokenChecker({ keys }) };
const KEY = { authorization: `Bearer ${OPERATOR_KEY}` };

function token(life = 60_000): string {
  const at = Date.now();
  const claims = { jti: "j", issuer: "sallyport", tool: "math.add", versions: "*", agent: "a", tenant: "t" };
  return mintToken(
    { ...claims, operations: ["execute"], issuedAt: at - 120_000, expiresAt: at + life },
    { kid: "runtime", privateKey },
  );
}

async function refusal(answer: Response) {
  const { code } = (await answer.json()) as { code: string };
  return [answer.status, code, answer.headers.get("www-authenticate")];
}

async function openSession(test: TestDoor, body = "{}"): Promise<Response> {
  return test.postJson("/v1/sessions", body, KEY);
}

describe("a door whose callers need a token", () => {
  it("takes it from the header or from the body, and from an operator none [L3-PRM-1]", async () => {
    await using test = await openTestDoor({ settings: { callers: "token" }, tokens: TOKENS });
    expect((await test.postJson("/v1/echo", "{}", { authorization: `Bearer ${token()}` })).status).toBe(200);
    expect((await test.postJson("/v1/echo", JSON.stringify({ capability_token: token() }))).status).toBe(200);
    expect((await test.postJson("/v1/echo", "{}", KEY)).status).toBe(200);
    const kinds = test.journal.asked.map(({ principal }) => principal.kind);
    expect(kinds).toEqual(["agent", "agent", "operator"]);
  });

  it("refuses everybody else with 401 and runs nothing", async () => {
    await using test = await openTestDoor({ settings: { callers: "token" }, tokens: TOKENS });
    const realm = 'Bearer realm="sallyport"';
    expect(await refusal(await test.postJson("/v1/echo", "{}"))).toEqual([401, "E3938", realm]);
    const invalid = `${realm}, error="invalid_token"`;
    const expired = JSON.stringify({ capability_token: token(-60_000) });
    expect(await refusal(await test.postJson("/v1/echo", expired))).toEqual([401, "E3202", invalid]);
    const wrong = await test.postJson("/v1/echo", "{}", { authorization: "Bearer x.y.z" });
    expect(await refusal(wrong)).toEqual([401, "E3201", invalid]);
    expect(test.journal.asked).toEqual([]);
  });
});

describe("a door open to whoever reaches it", () => {
  it("still refuses a credential that is no good, even where none is needed", async () => {
    await using test = await openTestDoor({ tokens: TOKENS });
    expect((await test.postJson("/v1/echo", "{}")).status).toBe(200);
    for (const path of ["/v1/things/a", "/docs"]) {
      const wrong = await test.fetch(path, { headers: { authorization: `Bearer ${token(-60_000)}` } });
      expect(wrong.status).toBe(401);
    }
    const inBody = await test.postJson("/v1/echo", '{"capability_token":"x.y.z"}');
    expect((await refusal(inBody)).slice(0, 2)).toEqual([401, "E3201"]);
  });

  it("keeps management to operators", async () => {
    await using test = await openTestDoor({ tokens: TOKENS });
    expect((await test.fetch("/v1/audit:verify")).status).toBe(401);
    const asAgent = await test.fetch("/v1/audit:verify", { headers: { authorization: `Bearer ${token()}` } });
    expect((await refusal(asAgent)).slice(0, 2)).toEqual([403, "E3940"]);
    expect((await test.fetch("/v1/audit:verify", { headers: KEY })).status).toBe(200);
    expect((await test.fetch("/v1/approvals/a:approve", { method: "POST" })).status).toBe(401);
  });

  it("says when to come back after too many wrong keys", async () => {
    await using test = await openTestDoor();
    const headers = { authorization: `Bearer spo_${"x".repeat(43)}` };
    const statuses: number[] = [];
    for (let count = 0; count < 11; count += 1)
      statuses.push((await test.fetch("/v1/audit:verify", { headers })).status);
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
    const locked = await test.fetch("/v1/audit:verify", { headers: { authorization: "Bearer spo_wrong" } });
    expect([locked.status, locked.headers.get("retry-after")]).toEqual([429, "6"]);
    expect((await test.fetch("/v1/audit:verify", { headers: KEY })).status).toBe(200);
  });
});

describe("a session", () => {
  it("is opened with the operator key, used as a bearer, and ended", async () => {
    await using test = await openTestDoor();
    const opened = await openSession(test, '{"name":"Ana"}');
    expect(opened.status).toBe(201);
    expect(opened.headers.get("set-cookie")).toBeNull();
    const { token: secret, name, expires_at } = (await opened.json()) as Record<string, string>;
    expect(name).toBe("Ana");
    expect(Date.parse(expires_at ?? "") - Date.now()).toBeGreaterThan(7 * 60 * 60 * 1_000);
    const headers = { authorization: `Bearer ${secret}` };
    expect(await (await test.fetch("/v1/audit:verify", { headers })).json()).toMatchObject({ name: "Ana" });
    const further = await test.postJson("/v1/sessions", "{}", headers);
    expect((await refusal(further)).slice(0, 2)).toEqual([403, "E3940"]);
    expect((await test.fetch("/v1/sessions/current", { method: "DELETE", headers })).status).toBe(204);
    expect((await refusal(await test.fetch("/v1/audit:verify", { headers }))).slice(0, 2)).toEqual([
      401,
      "E3939",
    ]);
  });

  it("is kept by a browser in a cookie that no script sees and no other page uses", async () => {
    await using test = await openTestDoor();
    const opened = await openSession(test, '{"as":"cookie"}');
    const kept = opened.headers.get("set-cookie") ?? "";
    expect(await opened.json()).not.toHaveProperty("token");
    expect(kept).toMatch(
      /^sallyport_session=sps_[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const cookie = kept.split(";")[0] ?? "";
    expect((await test.fetch("/v1/audit:verify", { headers: { cookie } })).status).toBe(200);
    const end = (headers: Record<string, string>) =>
      test.fetch("/v1/sessions/current", { method: "DELETE", headers: { cookie, ...headers } });
    expect((await refusal(await end({}))).slice(0, 2)).toEqual([403, "E3937"]);
    const ended = await end({ origin: test.url });
    expect([ended.status, ended.headers.get("set-cookie")]).toEqual([
      204,
      expect.stringContaining("Max-Age=0"),
    ]);
  });

  it("that is over is dropped by the browser at the first refusal", async () => {
    await using test = await openTestDoor();
    const answer = await test.fetch("/docs", { headers: { cookie: "sallyport_session=sps_gone" } });
    expect([answer.status, answer.headers.get("set-cookie")]).toEqual([
      401,
      "sallyport_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict",
    ]);
  });

  it("is nobody else's to open", async () => {
    await using test = await openTestDoor({ tokens: TOKENS });
    expect((await test.postJson("/v1/sessions", "{}")).status).toBe(401);
    expect((await test.postJson("/v1/sessions", "{}", { authorization: `Bearer ${token()}` })).status).toBe(
      403,
    );
    expect((await test.fetch("/v1/sessions", { method: "POST", headers: KEY })).status).toBe(201);
    expect((await openSession(test, '{"name":"<b>"}')).status).toBe(400);
    expect(await test.store.records.list("session", { limit: 10 })).toHaveLength(1);
  });
});
