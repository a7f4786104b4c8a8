import { type Engine, hmacSigner } from "@sallyport/engine";
import { describe, expect, it } from "vitest";
import { agent, OPERATOR, refusal, refused } from "./fixtures/ask.ts";
import { type FixtureDoor, SUM } from "./fixtures/door.ts";
import { opening } from "./fixtures/opening.ts";

const openDoor = opening();

async function open(...[options]: [Parameters<typeof openDoor>[1]?]): Promise<FixtureDoor> {
  return await openDoor([SUM], options);
}

const SIGNED = { engine: { signer: hmacSigner(Buffer.alloc(32, 1)) } };

async function granted(engine: Engine): Promise<string> {
  const grant = await engine.grants.allow({
    kind: "standing",
    tenant: "local",
    grantor: "ann",
    tier: "operator",
    tool: "sum",
    versions: "*",
    operations: ["run"],
    arguments: [{ pointer: "/a", match: { equals: 1 } }],
    agent: "*",
  });
  if ("code" in grant) throw new Error(grant.message);
  return grant.grantId;
}

describe("/v1/grants", () => {
  it("lists grants in force, shows one, and takes it back with the calls that rest on it", async () => {
    const { ask, engine } = await open(SIGNED);
    const grant_id = await granted(engine);
    const list = async (query = {}) => (await ask("listGrants", { query, principal: OPERATOR })).json.grants;
    expect(await list()).toMatchObject([
      { grant_id, kind: "standing", tool_id: "sum", state: "in_force", uses: 0 },
    ]);
    expect(await list({ kind: "capability" })).toEqual([]);
    const shown = await ask("getGrant", { params: { grant_id }, principal: OPERATOR });
    expect(shown.json).toMatchObject({ grant_id, arguments: [{ pointer: "/a" }] });
    expect(shown.json).not.toHaveProperty("signature");
    const revoke = () =>
      ask("revokeGrant", { params: { grant_id }, query: { reason: "not needed" }, principal: OPERATOR });
    expect((await revoke()).json).toMatchObject({
      grant: { state: "revoked", revoked_by: "ann", revoked_because: "not needed" },
      revoked: [grant_id],
      ended_invocations: [],
    });
    expect((await revoke()).json).toMatchObject({ revoked: [] });
    expect(await list()).toEqual([]);
    expect(await list({ state: "any" })).toHaveLength(1);
    expect(await list({ state: "revoked" })).toHaveLength(1);
  });

  it("shows a capability grant with its scope", async () => {
    const { ask, engine } = await open(SIGNED);
    const grant = await engine.grants.issue({
      tenant: "local",
      capabilityId: "filesystem.read",
      grantee: { type: "TOOL", id: "sum" },
      scope: { resources: ["docs/**"], actions: ["read"], conditions: [] },
      grantor: { id: "ann", operator: true },
      delegatable: false,
    });
    if ("code" in grant) throw new Error(grant.message);
    const { json } = await ask("getGrant", { params: { grant_id: grant.grantId }, principal: OPERATOR });
    expect(json).toMatchObject({
      kind: "capability",
      capability_id: "filesystem.read",
      grantee: { type: "TOOL", id: "sum" },
      scope: { resources: ["docs/**"], actions: ["read"], conditions: [] },
      delegation_depth: 0,
    });
  });

  it("does not know a grant that never was, and does nothing for who is no operator", async () => {
    const { ask, engine } = await open(SIGNED);
    const params = { grant_id: "none" };
    expect(await refusal(ask("getGrant", { params, principal: OPERATOR }))).toBe("E3221");
    expect(await refusal(ask("revokeGrant", { params, principal: OPERATOR }))).toBe("E3221");
    const grant_id = await granted(engine);
    expect(await refusal(ask("revokeGrant", { params: { grant_id }, principal: agent("bob") }))).toBe(
      "E3940",
    );
  });
});

describe("/v1/audit", () => {
  it("reads a chain page by page, each event with its link", async () => {
    const { ask, store } = await open();
    for (const a of [1, 2, 3]) await ask("invokeTool", { body: { tool_id: "sum", parameters: { a, b: 1 } } });
    const all = await store.audit.read("local", { strand: 0, after: 0, limit: 1_000 });
    const first = await ask("readAudit", { query: { limit: "2" }, principal: OPERATOR });
    const heads = await store.audit.heads("local");
    expect(first.json).toMatchObject({ tenant_id: "local", strand: 0, strands: heads, next_after: 2 });
    expect(first.json.events).toHaveLength(10);
    expect(first.json.events).toMatchObject([
      { specversion: "1.0", strand: 0, sequence: 1, index: 1, chainhash: all[0]?.hash },
      ...[2, 3, 4, 5].map((index) => ({ sequence: 1, index, chainhash: all[0]?.hash })),
      ...[1, 2, 3, 4, 5].map((index) => ({ sequence: 2, index, chainhash: all[1]?.hash })),
    ]);
    const rest = await ask("readAudit", { query: { after: "2" }, principal: OPERATOR });
    expect(rest.json.events).toHaveLength(5);
    expect(rest.json).not.toHaveProperty("next_after");
    const other = await ask("readAudit", { query: { strand: "1" }, principal: OPERATOR });
    expect(other.json).toMatchObject({ strand: 1, events: [] });
    expect((await ask("readAudit", { query: { tenant: "none" } })).json.events).toEqual([]);
  });

  it("verifies every chain, or one, and says where one was changed", async () => {
    const { ask, parts, store } = await open();
    await ask("invokeTool", { body: { tool_id: "sum", parameters: { a: 1, b: 1 } } });
    const sound = await ask("verifyAudit");
    expect(sound.json).toMatchObject({
      verified: true,
      chains: expect.arrayContaining([expect.objectContaining({ tenant_id: "local", findings: [] })]),
    });
    parts.audit = {
      ...store.audit,
      read: async (tenant, page) =>
        (await store.audit.read(tenant, page)).map((entry) =>
          entry.sequence === 1 ? { ...entry, body: entry.body.replace("local", "LOCAL") } : entry,
        ),
    };
    const broken = await ask("verifyAudit", { query: { tenant: "local" } });
    expect(broken.json).toMatchObject({ verified: false });
    expect(broken.json.chains).toMatchObject([
      {
        findings: expect.arrayContaining([
          expect.objectContaining({
            sequence: 1,
            events: expect.arrayContaining([expect.objectContaining({ index: 1, state: "DECLARED" })]),
          }),
        ]),
      },
    ]);
  });
});

describe("GET /v1/audit:verify", () => {
  it("finds nothing to check for a tenant that has no chain, and is not content with that", async () => {
    const { ask } = await open();
    const verified = refused(ask("verifyAudit", { query: { tenant: "typo" } }));
    expect(await verified).toMatchObject({ code: "E3917", message: expect.stringContaining("typo") });
  });

  it("still checks a chain of which only the newest link is remembered", async () => {
    const { ask, parts } = await open();
    parts.audit = {
      tenants: async () => [],
      strands: async () => [2],
      heads: async () => [{ strand: 2, sequence: 3, hash: "h" }],
      read: async () => [],
    };
    const { json } = await ask("verifyAudit", { query: { tenant: "local" } });
    expect(json).toMatchObject({
      verified: false,
      chains: [{ findings: [{ strand: 2, problem: "truncated" }] }],
    });
  });
});

describe("POST /v1/tokens:revoke", () => {
  const payload = Buffer.from(JSON.stringify({ jti: "t-9", exp: 4e9 })).toString("base64url");
  const header = Buffer.from(JSON.stringify({ alg: "RS256", typ: "JWT" })).toString("base64url");
  const token = `${header}.${payload}.${Buffer.from("x").toString("base64url")}`;

  it("puts the revocation of a token on record, by its name or itself", async () => {
    const { ask, store } = await open();
    const revoke = (body: object) => ask("revokeToken", { body, principal: OPERATOR });
    expect((await revoke({ jti: "t-1", reason: "lost" })).json).toMatchObject({
      jti: "t-1",
      by: "ann",
      reason: "lost",
    });
    const { json } = await revoke({ token, reason: "lost" });
    expect(json).toMatchObject({ jti: "t-9", forget_at: new Date(4e12).toISOString() });
    await revoke({ jti: "agent.2026.01", reason: "has dots" });
    const revoked = (await store.revocations.changedSince()).changed.map(({ jti }) => jti);
    expect(revoked.sort()).toEqual(["agent.2026.01", "t-1", "t-9"]);
  });

  it("refuses what names no token, and never keeps a token as if it were a name", async () => {
    const { ask, store } = await open();
    for (const body of [{}, { jti: "a", token }, { jti: token }, { token: "nonsense" }, { jti: "a b" }]) {
      const sent = { body: { ...body, reason: "x" }, principal: OPERATOR };
      expect(await refusal(ask("revokeToken", sent))).toBe("E3903");
    }
    expect(await refusal(ask("revokeToken", { body: { jti: "a", reason: "x" } }))).toBe("E3940");
    expect((await store.revocations.changedSince()).changed).toEqual([]);
  });
});
