import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { AuthorityRequest } from "../../ports/authority.ts";
import type { CapabilityGrant, GrantReader, GrantRecord } from "../../ports/grants.ts";
import { authorityRequest } from "../../testing/authority-request.ts";
import { HOUR, NOON, SIGNER, sampleGrant } from "./fixtures/sample-grants.ts";
import { GrantShelf, type Holding, type MeasuredUse } from "./grant-shelf.ts";
import { hmacSigner } from "./sign-grant.ts";

const READ = "filesystem.read";

function shelfOf(...records: GrantRecord[]): GrantShelf {
  const shelf = new GrantShelf(SIGNER);
  shelf.load(records);
  return shelf;
}

function ask(
  shelf: GrantShelf,
  change: Partial<AuthorityRequest> = {},
  more: { roles?: string[]; location?: Record<string, JsonValue>; callId?: string } = {},
): Holding {
  return shelf.capabilitiesFor({ request: authorityRequest({ at: NOON, ...change }), ...more }, [READ]);
}

function use(change: Partial<MeasuredUse> = {}): MeasuredUse {
  const decision = {
    outcome: "allow" as const,
    reason: "granted",
    rules: [],
    capabilities: [READ],
    missing: [],
    policyVersion: "1",
  };
  return {
    decision,
    callId: "call",
    tenant: "acme",
    tool: "file.read",
    capability: READ,
    at: NOON,
    ...change,
  };
}

const scoped = (change: Partial<CapabilityGrant["scope"]>) =>
  sampleGrant({ scope: { resources: [], actions: [], conditions: [], ...change } });
const limited = (type: string, value: JsonValue, change: Partial<CapabilityGrant> = {}) =>
  sampleGrant({ constraints: [{ type, value }], ...change });

describe("the shelf: which capabilities are held", () => {
  it("by a grant to the tool, exactly [R3-2]", () => {
    const grant = sampleGrant();
    expect(ask(shelfOf(grant))).toEqual({
      held: [{ capability: READ, grantId: grant.grantId }],
      missing: [],
    });
  });

  it.each([
    ["nothing is stored", []],
    ["it is for another tool", [sampleGrant({ grantee: { type: "TOOL", id: "file.write" } })]],
    ["it is for a user of the tool's name", [sampleGrant({ grantee: { type: "USER", id: "file.read" } })]],
    ["it is of another tenant", [sampleGrant({ tenant: "other" })]],
    [
      "it is of the parent [R3-1]",
      [sampleGrant({ capabilityId: "filesystem" }), sampleGrant({ capabilityId: "root" })],
    ],
    ["it is of a child [R3-1]", [sampleGrant({ capabilityId: "filesystem.read.all" })]],
  ])("no grant is found when %s [R3-2]", (_why, records) => {
    expect(ask(shelfOf(...records))).toEqual({
      held: [],
      missing: [{ capability: READ, reason: "no grant found" }],
    });
  });

  it.each<[string, GrantRecord]>([
    ["was revoked", { ...sampleGrant(), revokedAt: NOON }],
    ["has expired", sampleGrant({ expiresAt: NOON })],
    ["was changed after it was signed", { ...sampleGrant({ expiresAt: NOON - 1 }), expiresAt: NOON + HOUR }],
    ["names a parent that is not there", sampleGrant({ parentGrantId: "gone", delegationDepth: 1 })],
    ["claims a depth without a parent", sampleGrant({ delegationDepth: 1 })],
  ])("no valid grant is found when it %s [R3-2]", (_why, record) => {
    expect(ask(shelfOf(record)).missing).toMatchObject([{ reason: "no valid grant found" }]);
  });

  it("without the key, or with another, no grant counts [R3-2]", () => {
    for (const signer of [undefined, hmacSigner(Buffer.alloc(32, 9))]) {
      const shelf = new GrantShelf(signer);
      shelf.load([sampleGrant()]);
      expect(ask(shelf).missing).toMatchObject([{ reason: "no valid grant found" }]);
    }
  });

  it("grants to the user and to the caller's roles count too [R3-2]", () => {
    const user = sampleGrant({ grantee: { type: "USER", id: "ann" } });
    const role = sampleGrant({ grantee: { type: "ROLE", id: "editor" } });
    const shelf = shelfOf(user, role);
    const ann = { caller: { tenant: "acme", agent: "agent-7", user: "ann" } };
    expect(ask(shelf, ann).held.map(({ grantId }) => grantId)).toEqual([user.grantId]);
    expect(ask(shelf, {}, { roles: ["editor"] }).held.map(({ grantId }) => grantId)).toEqual([role.grantId]);
    expect(ask(shelf, {}, { roles: ["reader"] }).held).toEqual([]);
  });

  it("conditions are looked at now, and one that cannot be told is a no [R3-2]", () => {
    const on = (type: string, expression: string) => shelfOf(scoped({ conditions: [{ type, expression }] }));
    expect(ask(on("TIME", "hour < 17")).held).toHaveLength(1);
    expect(ask(on("TIME", "hour < 12")).missing).toEqual([
      {
        capability: READ,
        reason: "scope or constraints not satisfied",
        because: "TIME hour < 12 does not hold",
      },
    ]);
    expect(ask(on("CONTEXT", 'context.agent == "agent-7" && context.risk in ["low"]')).held).toHaveLength(1);
    expect(ask(on("CONTEXT", 'context.user == "ann"')).missing[0]?.because).toContain(
      "context.user is not known",
    );
    expect(
      ask(on("LOCATION", 'location.country == "de"'), {}, { location: { country: "de" } }).held,
    ).toHaveLength(1);
    expect(ask(on("MOON", "true")).missing[0]?.because).toContain('type "MOON" is not known');
    expect(ask(on("TIME", "hour <")).held).toEqual([]);
  });

  it("an attribute that is given never passes for one of the request [R3-2]", () => {
    const shelf = shelfOf(scoped({ conditions: [{ type: "CONTEXT", expression: 'context.user == "ann"' }] }));
    const query = { request: authorityRequest({ at: NOON }), context: { user: "ann" } };
    expect(shelf.capabilitiesFor(query, [READ]).held).toEqual([]);
  });

  it("a constraint of an unknown type or with a wrong value is a no [R3-2]", () => {
    expect(ask(shelfOf(limited("unheard_of", 1))).missing[0]?.because).toContain('"unheard_of" is not known');
    expect(ask(shelfOf(limited("rate_limit", 5))).missing[0]?.because).toContain("rate_limit needs max");
  });

  it("all grants that serve are named, up to one that is enough by itself", () => {
    const data = scoped({ resources: ["/data/*"] });
    const temporary = scoped({ resources: ["/tmp/*"] });
    const all = sampleGrant();
    const later = sampleGrant();
    const ids = (shelf: GrantShelf) => ask(shelf).held.map(({ grantId }) => grantId);
    expect(ids(shelfOf(data, temporary))).toEqual([data.grantId, temporary.grantId]);
    expect(ids(shelfOf(later, all, data))).toEqual([data.grantId, all.grantId]);
  });

  it("each required capability is answered for", () => {
    const shelf = shelfOf(sampleGrant());
    const answer = shelf.capabilitiesFor({ request: authorityRequest({ at: NOON }) }, [
      "network.https",
      READ,
    ]);
    expect([answer.held.length, answer.missing.map(({ capability }) => capability)]).toEqual([
      1,
      ["network.https"],
    ]);
  });
});

describe("the shelf: lines of delegation", () => {
  const root = sampleGrant({
    delegatable: true,
    grantee: { type: "TOOL", id: "boss" },
    expiresAt: NOON + HOUR,
  });
  const child = sampleGrant({ parentGrantId: root.grantId, delegationDepth: 1, expiresAt: NOON + HOUR - 1 });

  it("a delegated grant counts while all above it do [R3-3]", () => {
    expect(ask(shelfOf(root, child)).held).toHaveLength(1);
    for (const above of [
      { ...root, revokedAt: 1 },
      { ...root, grantor: "forged" },
      sampleGrant({ ...root, delegatable: false }),
      sampleGrant({ ...root, capabilityId: "filesystem.write" }),
      sampleGrant({ ...root, tenant: "other" }),
      sampleGrant({ ...root, expiresAt: NOON + HOUR - 1 }),
    ])
      expect(ask(shelfOf(above, child)).missing).toMatchObject([{ reason: "no valid grant found" }]);
  });

  it("limits of the parent hold for all its children together [R3-3]", () => {
    const bounded = sampleGrant({ ...root, constraints: [{ type: "max_uses", value: 1 }] });
    const twin = sampleGrant({ parentGrantId: root.grantId, delegationDepth: 1, expiresAt: NOON + 1 });
    const shelf = shelfOf(bounded, child, twin);
    shelf.began([child.grantId], { callId: "call", at: NOON });
    expect(ask(shelf).missing[0]?.because).toContain("all 1 uses are spent");
    expect(shelf.lineage([twin.grantId])).toEqual([twin.grantId, root.grantId]);
  });

  it("a scope above is not passed by at use [R3-3]", () => {
    const narrow = sampleGrant({ ...root, scope: { resources: ["/data/*"], actions: [], conditions: [] } });
    const shelf = shelfOf(narrow, child);
    expect(shelf.refuseUse(use({ resource: "/etc/x" }), [child.grantId])).toMatchObject({ code: "E3212" });
    expect(shelf.refuseUse(use({ resource: "/data/x" }), [child.grantId])).toBeUndefined();
  });
});

describe("the shelf: each use while a tool runs", () => {
  const grant = scoped({ resources: ["/data/*"], actions: ["read"] });

  it("stays within actions and resources, or is E3212 [R3-4]", () => {
    const shelf = shelfOf(grant);
    const code = (change: Partial<MeasuredUse>) => shelf.refuseUse(use(change), [grant.grantId])?.code;
    expect(code({ action: "read", resource: "/data/a" })).toBeUndefined();
    expect(code({ action: "write", resource: "/data/a" })).toBe("E3212");
    expect(code({ action: "read", resource: "/etc/passwd" })).toBe("E3212");
    expect(code({ action: "read", resource: "/data/../etc/passwd" })).toBe("E3212");
    expect(code({ action: "read" })).toBe("E3212");
    expect(code({ resource: "/data/a" })).toBe("E3212");
  });

  it("any of the call's grants may allow it, and only those of the capability [R3-4]", () => {
    const temporary = scoped({ resources: ["/tmp/*"] });
    const other = sampleGrant({ capabilityId: "network.https" });
    const shelf = shelfOf(grant, temporary, other);
    const ids = [other.grantId, grant.grantId, temporary.grantId];
    expect(shelf.refuseUse(use({ resource: "/tmp/a" }), ids)).toBeUndefined();
    expect(shelf.refuseUse(use({ resource: "/etc/a" }), ids)?.message).toContain(
      `${temporary.grantId} does not cover`,
    );
    expect(shelf.refuseUse(use({ resource: "/etc/a" }), [other.grantId])).toBeUndefined();
  });

  it("a grant revoked, expired or gone since is E3217 [R3-3] [R3-4]", () => {
    const plain = sampleGrant({ expiresAt: NOON + HOUR });
    const shelf = shelfOf(plain);
    expect(shelf.refuseUse(use(), [plain.grantId])).toBeUndefined();
    expect(shelf.refuseUse(use({ at: NOON + HOUR }), [plain.grantId])).toMatchObject({ code: "E3217" });
    shelf.put({ ...plain, revokedAt: NOON, revision: 2 });
    expect(shelf.refuseUse(use(), [plain.grantId])).toMatchObject({
      code: "E3217",
      details: { capability: READ },
    });
    shelf.load([]);
    expect(shelf.refuseUse(use(), [plain.grantId])).toMatchObject({ code: "E3217" });
  });

  it("of the conditions the hour is looked at again [R3-4]", () => {
    const conditions = [
      { type: "TIME", expression: "hour < 13" },
      { type: "CONTEXT", expression: 'context.agent == "agent-7"' },
    ];
    const office = scoped({ conditions });
    const shelf = shelfOf(office);
    expect(shelf.refuseUse(use(), [office.grantId])).toBeUndefined();
    expect(shelf.refuseUse(use({ at: NOON + HOUR }), [office.grantId])).toMatchObject({ code: "E3217" });
  });

  it("constraints look at what it is used on [R3-4]", () => {
    const small = limited("max_file_size", 10);
    const shelf = shelfOf(small);
    expect(shelf.refuseUse(use({ bytes: 10 }), [small.grantId])).toBeUndefined();
    expect(shelf.refuseUse(use({ bytes: 11 }), [small.grantId])).toMatchObject({ code: "E3212" });
    expect(shelf.refuseUse(use(), [small.grantId])).toMatchObject({ code: "E3212" });
  });

  it("a rate limit counts uses, says when to come back, and lets go in time [R3-2]", () => {
    const grant = limited("rate_limit", { max: 2, window: 1_000 });
    const shelf = shelfOf(grant);
    const tryAt = (at: number) => shelf.refuseUse(use({ at }), [grant.grantId]);
    expect(tryAt(NOON)).toBeUndefined();
    expect(ask(shelf, { at: NOON + 1 }).held).toHaveLength(1);
    expect(tryAt(NOON + 100)).toBeUndefined();
    expect(tryAt(NOON + 200)).toMatchObject({
      code: "E3224",
      retryable: true,
      details: { retryAfterMs: 800 },
    });
    expect(ask(shelf, { at: NOON + 300 }).missing).toMatchObject([
      { reason: "scope or constraints not satisfied", retryAfterMs: 700 },
    ]);
    expect(ask(shelf, { at: NOON + 1_000 }).held).toHaveLength(1);
    expect(tryAt(NOON + 1_000)).toBeUndefined();
    expect(tryAt(NOON + 1_001)).toMatchObject({ code: "E3224", details: { retryAfterMs: 99 } });
  });

  it("a call that has begun is one use, with or without a first use in it", () => {
    const grant = limited("rate_limit", { max: 2, window: 1_000 });
    const shelf = shelfOf(grant);
    shelf.began([grant.grantId], { callId: "call", at: NOON });
    shelf.began([grant.grantId], { callId: "other", at: NOON });
    expect(ask(shelf).missing).toHaveLength(1);
    expect(shelf.refuseUse(use(), [grant.grantId])).toBeUndefined();
    expect(shelf.refuseUse(use(), [grant.grantId])).toMatchObject({ code: "E3224" });
  });

  it("max_uses adds what the store has counted to what happened here since [R3-2]", () => {
    const grant = limited("max_uses", { max: 5 }, { uses: 3 });
    const shelf = shelfOf(grant);
    shelf.began([grant.grantId], { callId: "1", at: NOON });
    expect(ask(shelf).held).toHaveLength(1);
    shelf.began([grant.grantId], { callId: "2", at: NOON });
    expect(ask(shelf).missing).toHaveLength(1);
    expect(ask(shelf, {}, { callId: "2" }).held).toHaveLength(1);
    shelf.load([{ ...grant, uses: 4 }]);
    expect(ask(shelf).missing).toHaveLength(1);
    expect(ask(shelfOf({ ...grant, uses: 5 })).missing).toHaveLength(1);
  });
});

describe("the shelf: what happens to grants meanwhile", () => {
  const reader = (records: GrantRecord[], isLost = false): GrantReader => ({
    get: async (grantId) => {
      if (isLost) throw new Error("lost");
      return records.find((record) => record.grantId === grantId);
    },
    all: async () => records,
  });

  it("a revocation is not taken back by an older or a tampered record [R3-2]", () => {
    const grant = sampleGrant();
    const shelf = shelfOf({ ...grant, revokedAt: NOON, revision: 2 });
    for (const record of [grant, { ...grant, revision: 2 }, { ...grant, revision: 3 }]) {
      shelf.put(record);
      expect(ask(shelf).held).toEqual([]);
    }
  });

  it("a grant that may have changed counts for nothing until it has been read [R3-3]", async () => {
    const grant = sampleGrant();
    const shelf = shelfOf(grant);
    const reading = shelf.refresh([grant.grantId], reader([grant]));
    expect(ask(shelf).held).toEqual([]);
    expect(shelf.refuseUse(use(), [grant.grantId])).toMatchObject({ code: "E3217" });
    expect(await reading).toEqual([]);
    expect(ask(shelf).held).toHaveLength(1);
    expect(await shelf.refresh([grant.grantId], reader([], true))).toEqual([grant.grantId]);
    expect(ask(shelf).held).toEqual([]);
  });

  it("what was read before a newer hint does not bring a grant back [R3-3]", async () => {
    const grant = sampleGrant();
    const shelf = shelfOf(grant);
    let answer = (_record: GrantRecord) => {};
    const slow: GrantReader = {
      get: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
      all: async () => [],
    };
    const early = shelf.refresh([grant.grantId], slow);
    const late = shelf.refresh([grant.grantId], reader([], true));
    answer(grant);
    expect(await early).toEqual([]);
    expect(ask(shelf).held).toEqual([]);
    expect(await late).toEqual([grant.grantId]);
    expect(ask(shelf).held).toEqual([]);
  });

  it("an older record does not end the doubt about a newer one [R3-3]", async () => {
    const grant = sampleGrant();
    const shelf = shelfOf({ ...grant, revision: 2 });
    await shelf.refresh([grant.grantId], reader([], true));
    shelf.put(grant);
    expect(ask(shelf).held).toEqual([]);
    shelf.put({ ...grant, revision: 2 });
    expect(ask(shelf).held).toHaveLength(1);
  });

  it("a new grant is taken from the store", async () => {
    const grant = sampleGrant();
    const shelf = shelfOf();
    await shelf.refresh([grant.grantId, "unknown"], reader([grant]));
    expect(ask(shelf).held).toHaveLength(1);
  });

  it("keeps a copy: what the giver of a record does later changes nothing", () => {
    const grant = sampleGrant({ expiresAt: NOON - 1 });
    const shelf = shelfOf(grant);
    grant.expiresAt = NOON + HOUR;
    expect(ask(shelf).held).toEqual([]);
  });
});
