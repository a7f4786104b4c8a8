import type { JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { AuthorityRequest, CapabilityUse } from "../../ports/authority.ts";
import type { CapabilityGrant, GrantReader, GrantRecord } from "../../ports/grants.ts";
import { authorityRequest } from "../../testing/samples.ts";
import { HOUR, NOON, SIGNER, sampleGrant } from "./fixtures/sample-grants.ts";
import { GrantFollower } from "./grant-follower.ts";
import { GrantIndex, type HeldCapabilities } from "./grant-index.ts";
import { hmacSigner } from "./grant-validity.ts";

const READ = "filesystem.read";
const NO_VALID = [{ reason: "no valid grant found" }];
const CALL = { callId: "call", at: NOON };

function indexOf(...records: GrantRecord[]): GrantIndex {
  const index = new GrantIndex(SIGNER);
  index.load(records);
  return index;
}

function ask(
  index: GrantIndex,
  change: Partial<AuthorityRequest> = {},
  more: { roles?: string[]; location?: Record<string, JsonValue> } = {},
): HeldCapabilities {
  return index.capabilitiesFor({ request: authorityRequest({ at: NOON, ...change }), ...more }, [READ]);
}

const heldIds = (...args: Parameters<typeof ask>) => ask(...args).held.map(({ grantId }) => grantId);
const because = (...records: GrantRecord[]) => ask(indexOf(...records)).missing[0]?.because;

function use(change: Partial<CapabilityUse> = {}): CapabilityUse {
  const lists = { rules: [], capabilities: [READ], missing: [] };
  const decision = { outcome: "allow" as const, reason: "granted", policyVersion: "1", ...lists };
  return { decision, tenant: "acme", tool: "file.read", capability: READ, ...CALL, ...change };
}

const scoped = (change: Partial<CapabilityGrant["scope"]>) =>
  sampleGrant({ scope: { resources: [], actions: [], conditions: [], ...change } });
const limited = (type: string, value: JsonValue, change: Partial<CapabilityGrant> = {}) =>
  sampleGrant({ constraints: [{ type, value }], ...change });

describe("the grant index: which capabilities are held", () => {
  it("by a grant to the tool, exactly; each required capability is answered for [R3-2]", () => {
    const grant = sampleGrant();
    const query = { request: authorityRequest({ at: NOON }) };
    expect(indexOf(grant).capabilitiesFor(query, ["network.https", READ])).toEqual({
      held: [{ capability: READ, grantId: grant.grantId }],
      missing: [{ capability: "network.https", reason: "no grant found" }],
    });
  });

  it.each([
    ["nothing is stored", []],
    ["it is for another tool", [sampleGrant({ grantee: { type: "TOOL", id: "file.write" } })]],
    ["it is for a user of the tool's name", [sampleGrant({ grantee: { type: "USER", id: "file.read" } })]],
    ["it is of another tenant", [sampleGrant({ tenant: "other" })]],
    [
      "it is of the parent [R3-1]",
      ["filesystem", "root"].map((capabilityId) => sampleGrant({ capabilityId })),
    ],
    ["it is of a child [R3-1]", [sampleGrant({ capabilityId: "filesystem.read.all" })]],
  ])("no grant is found when %s [R3-2]", (_why, records) => {
    const missing = [{ capability: READ, reason: "no grant found" }];
    expect(ask(indexOf(...records))).toEqual({ held: [], missing });
  });

  it.each<[string, GrantRecord]>([
    ["was revoked", { ...sampleGrant(), revokedAt: NOON }],
    ["has expired", sampleGrant({ expiresAt: NOON })],
    ["was changed after it was signed", { ...sampleGrant({ expiresAt: NOON - 1 }), expiresAt: NOON + HOUR }],
    ["names a parent that is not there", sampleGrant({ parentGrantId: "gone", delegationDepth: 1 })],
    ["claims a depth without a parent", sampleGrant({ delegationDepth: 1 })],
  ])("no valid grant is found when it %s [R3-2]", (_why, record) => {
    expect(ask(indexOf(record)).missing).toMatchObject(NO_VALID);
  });

  it("without the key, or with another, no grant counts [R3-2]", () => {
    for (const signer of [undefined, hmacSigner(Buffer.alloc(32, 9))]) {
      const index = new GrantIndex(signer);
      index.load([sampleGrant()]);
      expect(ask(index).missing).toMatchObject(NO_VALID);
    }
  });

  it("grants to the user and to the caller's roles count too [R3-2]", () => {
    const user = sampleGrant({ grantee: { type: "USER", id: "ann" } });
    const role = sampleGrant({ grantee: { type: "ROLE", id: "editor" } });
    const index = indexOf(user, role);
    const ann = { caller: { tenant: "acme", agent: "agent-7", user: "ann" } };
    expect(heldIds(index, ann)).toEqual([user.grantId]);
    expect(heldIds(index, {}, { roles: ["editor"] })).toEqual([role.grantId]);
    expect(heldIds(index, {}, { roles: ["reader"] })).toEqual([]);
  });

  it.each([
    ["TIME", "hour < 17", undefined],
    ["CONTEXT", 'context.agent == "agent-7" && context.risk in ["low"]', undefined],
    ["LOCATION", 'location.country == "de"', undefined],
    ["TIME", "hour < 12", "TIME hour < 12 does not hold"],
    ["CONTEXT", 'context.user == "ann"', "context.user is not known"],
    ["MOON", "true", 'type "MOON" is not known'],
    ["TIME", "hour <", "the end where a value is expected"],
  ])("%s %s is looked at now, and one that cannot be told is a no: %s [R3-2]", (type, expression, reason) => {
    const index = indexOf(scoped({ conditions: [{ type, expression }] }));
    const { held, missing } = ask(index, {}, { location: { country: "de" } });
    expect(held).toHaveLength(reason === undefined ? 1 : 0);
    if (reason === undefined) return;
    expect(missing).toMatchObject([
      { reason: "scope or constraints not satisfied", because: expect.stringContaining(reason) },
    ]);
  });

  it("an attribute that is given never passes for one of the request [R3-2]", () => {
    const index = indexOf(scoped({ conditions: [{ type: "CONTEXT", expression: 'context.user == "ann"' }] }));
    const query = { request: authorityRequest({ at: NOON }), context: { user: "ann" } };
    expect(index.capabilitiesFor(query, [READ]).held).toEqual([]);
  });

  it("a constraint of an unknown type or with a wrong value is a no [R3-2]", () => {
    expect(because(limited("unheard_of", 1))).toContain('"unheard_of" is not known');
    expect(because(limited("rate_limit", 5))).toContain("rate_limit needs max");
  });

  it("all grants that serve are named, up to one that is enough by itself", () => {
    const data = scoped({ resources: ["/data/*"] });
    const temporary = scoped({ resources: ["/tmp/*"] });
    const all = sampleGrant();
    expect(heldIds(indexOf(data, temporary))).toEqual([data.grantId, temporary.grantId]);
    expect(heldIds(indexOf(sampleGrant(), all, data))).toEqual([data.grantId, all.grantId]);
  });
});

describe("the grant index: lines of delegation", () => {
  const boss = { type: "TOOL" as const, id: "boss" };
  const root = sampleGrant({ delegatable: true, grantee: boss, expiresAt: NOON + HOUR });
  const below = { parentGrantId: root.grantId, delegationDepth: 1 };
  const child = sampleGrant({ ...below, expiresAt: NOON + HOUR - 1 });

  it("a delegated grant counts while all above it do [R3-3]", () => {
    expect(ask(indexOf(root, child)).held).toHaveLength(1);
    for (const above of [
      { ...root, revokedAt: 1 },
      { ...root, grantor: "forged" },
      sampleGrant({ ...root, delegatable: false }),
      sampleGrant({ ...root, capabilityId: "filesystem.write" }),
      sampleGrant({ ...root, tenant: "other" }),
      sampleGrant({ ...root, expiresAt: NOON + HOUR - 1 }),
    ])
      expect(ask(indexOf(above, child)).missing).toMatchObject(NO_VALID);
  });

  it("one whose parent may have changed, or that is a fourth generation, does not count [R3-3]", async () => {
    const index = indexOf(root, child);
    await new GrantFollower(index, {
      get: () => Promise.reject(new Error("lost")),
      changedSince: () => Promise.reject(new Error("lost")),
    }).heard([root.grantId]);
    expect(ask(index).missing).toMatchObject(NO_VALID);
    const line = [sampleGrant({ delegatable: true, grantee: boss })];
    for (const delegationDepth of [1, 2, 3, 4]) {
      const parentGrantId = line.at(-1)?.grantId ?? "";
      const holder = delegationDepth === 4 ? {} : { grantee: boss };
      const expiresAt = NOON + HOUR - delegationDepth;
      line.push(sampleGrant({ parentGrantId, delegationDepth, expiresAt, delegatable: true, ...holder }));
    }
    expect(ask(indexOf(...line)).missing).toMatchObject(NO_VALID);
  });

  it("limits of the parent hold for all its children together [R3-3]", () => {
    const bounded = sampleGrant({ ...root, constraints: [{ type: "max_uses", value: 1 }] });
    const twin = sampleGrant({ ...below, expiresAt: NOON + 1 });
    const index = indexOf(bounded, child, twin);
    index.reserve([child.grantId], CALL);
    expect(ask(index).missing[0]?.because).toContain("all 1 uses are spent");
    const counted = [{ grantId: twin.grantId }, { grantId: root.grantId, maxUses: 1 }];
    expect(index.counted([twin.grantId])).toEqual(counted);
  });

  it("a scope above is not passed by at use [R3-3]", () => {
    const narrow = sampleGrant({ ...root, scope: { resources: ["/data/*"], actions: [], conditions: [] } });
    const index = indexOf(narrow, child);
    expect(index.refuseUse(use({ resource: "/etc/x" }), [child.grantId])).toMatchObject({ code: "E3212" });
    expect(index.refuseUse(use({ resource: "/data/x" }), [child.grantId])).toBeUndefined();
  });
});

describe("the grant index: each use while a tool runs", () => {
  const grant = scoped({ resources: ["/data/*"], actions: ["read"] });
  /** What a use is refused with, on an index of this one grant. */
  const codeOf = (record: CapabilityGrant, change: Partial<CapabilityUse> = {}) =>
    indexOf(record).refuseUse(use(change), [record.grantId])?.code;

  it("stays within actions and resources, or is E3212 [R3-4]", () => {
    expect(codeOf(grant, { action: "read", resource: "/data/a" })).toBeUndefined();
    for (const beyond of [
      { action: "write", resource: "/data/a" },
      { action: "read", resource: "/etc/passwd" },
      { action: "read", resource: "/data/../etc/passwd" },
      { action: "read" },
      { resource: "/data/a" },
    ])
      expect(codeOf(grant, beyond), JSON.stringify(beyond)).toBe("E3212");
  });

  it("any of the call's grants may allow it, and only those of the capability [R3-4]", () => {
    const temporary = scoped({ resources: ["/tmp/*"] });
    const other = sampleGrant({ capabilityId: "network.https" });
    const index = indexOf(grant, temporary, other);
    const ids = [other.grantId, grant.grantId, temporary.grantId];
    expect(index.refuseUse(use({ resource: "/tmp/a" }), ids)).toBeUndefined();
    const refused = index.refuseUse(use({ resource: "/etc/a" }), ids);
    expect(refused?.message).toContain(`${temporary.grantId} does not cover`);
    expect(index.refuseUse(use({ resource: "/etc/a" }), [other.grantId])).toBeUndefined();
  });

  it("a grant revoked, expired or gone since is E3217 [R3-3] [R3-4]", () => {
    const plain = sampleGrant({ expiresAt: NOON + HOUR });
    const index = indexOf(plain);
    const refused = (at = NOON) => index.refuseUse(use({ at }), [plain.grantId]);
    expect(refused()).toBeUndefined();
    expect(refused(NOON + HOUR)).toMatchObject({ code: "E3217" });
    index.put({ ...plain, revokedAt: NOON, revision: 2 });
    expect(refused()).toMatchObject({ code: "E3217", details: { capability: READ } });
    index.load([]);
    expect(refused()).toMatchObject({ code: "E3217" });
  });

  it("of the conditions the hour is looked at again, and constraints look at what it is used on [R3-4]", () => {
    const conditions = [
      { type: "TIME", expression: "hour < 13" },
      { type: "CONTEXT", expression: 'context.agent == "agent-7"' },
    ];
    expect(codeOf(scoped({ conditions }))).toBeUndefined();
    expect(codeOf(scoped({ conditions }), { at: NOON + HOUR })).toBe("E3217");
    const small = limited("max_file_size", 10);
    const codes = [{ bytes: 10 }, { bytes: 11 }, {}].map((change) => codeOf(small, change));
    expect(codes).toEqual([undefined, "E3212", "E3212"]);
  });

  it("a rate limit counts uses, says when to come back, and lets go in time [R3-2]", () => {
    const grant = limited("rate_limit", { max: 2, window: 1_000 });
    const index = indexOf(grant);
    const tryAt = (at: number) => index.refuseUse(use({ at }), [grant.grantId]);
    const waits = (retryAfterMs: number) => ({ code: "E3224", retryable: true, details: { retryAfterMs } });
    expect(tryAt(NOON)).toBeUndefined();
    expect(ask(index, { at: NOON + 1 }).held).toHaveLength(1);
    expect(tryAt(NOON + 100)).toBeUndefined();
    expect(tryAt(NOON + 200)).toMatchObject(waits(800));
    expect(ask(index, { at: NOON + 300 }).missing).toMatchObject([
      { reason: "scope or constraints not satisfied", freeAt: NOON + 1_000 },
    ]);
    expect(ask(index, { at: NOON + 1_000 }).held).toHaveLength(1);
    expect(tryAt(NOON + 1_000)).toBeUndefined();
    expect(tryAt(NOON + 1_001)).toMatchObject(waits(99));
  });

  it("a call that has begun is one use, with or without a first use in it", () => {
    const grant = limited("rate_limit", { max: 2, window: 1_000 });
    const index = indexOf(grant);
    for (const callId of ["call", "other"]) index.reserve([grant.grantId], { callId, at: NOON });
    expect(ask(index).missing).toHaveLength(1);
    expect(index.refuseUse(use(), [grant.grantId])).toBeUndefined();
    expect(index.refuseUse(use(), [grant.grantId])).toMatchObject({ code: "E3224" });
  });

  it("max_uses adds what the store has counted to what happened here since [R3-2]", () => {
    const grant = limited("max_uses", { max: 5 }, { uses: 3 });
    const index = indexOf(grant);
    index.reserve([grant.grantId], { callId: "1", at: NOON });
    expect(ask(index).held).toHaveLength(1);
    index.reserve([grant.grantId], { callId: "2", at: NOON });
    expect(ask(index).missing).toHaveLength(1);
    expect(ask(index, { callId: "2" }).held).toHaveLength(1);
    index.load([{ ...grant, uses: 4 }]);
    expect(ask(index).missing).toHaveLength(1);
    expect(ask(indexOf({ ...grant, uses: 5 })).missing).toHaveLength(1);
  });
});

describe("the grant index: what happens to grants meanwhile", () => {
  const reader = (...records: GrantRecord[]): GrantReader => ({
    get: async (grantId) => records.find((record) => record.grantId === grantId),
    changedSince: async () => ({ changed: records, cursor: "" }),
  });
  const lost: GrantReader = {
    get: () => Promise.reject(new Error("lost")),
    changedSince: () => Promise.reject(new Error("lost")),
  };

  it("a revocation is not taken back by an older or a tampered record [R3-2]", () => {
    const grant = sampleGrant();
    const index = indexOf({ ...grant, revokedAt: NOON, revision: 2 });
    for (const record of [grant, { ...grant, revision: 2 }, { ...grant, revision: 3 }]) {
      index.put(record);
      expect(ask(index).held).toEqual([]);
    }
  });

  it("a grant that may have changed counts for nothing until it has been read [R3-3]", async () => {
    const grant = sampleGrant();
    const index = indexOf(grant);
    const reading = new GrantFollower(index, reader(grant)).heard([grant.grantId]);
    expect(ask(index).held).toEqual([]);
    expect(index.refuseUse(use(), [grant.grantId])).toMatchObject({ code: "E3217" });
    await reading;
    expect(ask(index).held).toHaveLength(1);
    await new GrantFollower(index, lost).heard([grant.grantId]);
    expect(ask(index).held).toEqual([]);
  });

  it("what was read before a newer hint does not bring a grant back [R3-3]", async () => {
    const grant = sampleGrant();
    const index = indexOf(grant);
    const { promise, resolve } = Promise.withResolvers<GrantRecord>();
    const answers = [promise.then((record) => ({ changed: [record], cursor: "" })), lost.changedSince()];
    const follower = new GrantFollower(index, {
      ...lost,
      changedSince: () => answers.shift() ?? lost.changedSince(),
    });
    const early = follower.heard([grant.grantId]);
    const late = follower.heard([grant.grantId]);
    resolve(grant);
    await early;
    expect(ask(index).held).toEqual([]);
    await late;
    expect(ask(index).held).toEqual([]);
  });

  it("all count for nothing where nobody says which have changed, until that is read [R3-3]", async () => {
    const [revoked, same, added] = [sampleGrant(), sampleGrant(), sampleGrant()];
    const index = indexOf(revoked, same);
    const changes = reader({ ...revoked, revokedAt: NOON, revision: 2 }, added);
    const reading = new GrantFollower(index, changes).heard();
    expect(ask(index).held).toEqual([]);
    await reading;
    expect(heldIds(index)).not.toContain(revoked.grantId);
    expect(ask(index).held).toHaveLength(1);
    await new GrantFollower(index, lost).heard();
    expect(ask(index).held).toEqual([]);
    await new GrantFollower(index, changes).catchUp();
    expect(ask(index).held).toHaveLength(1);
  });

  it("an older record does not end the doubt about a newer one [R3-3]", async () => {
    const grant = sampleGrant();
    const index = indexOf({ ...grant, revision: 2 });
    await new GrantFollower(index, lost).heard([grant.grantId]);
    index.put(grant);
    expect(ask(index).held).toEqual([]);
    index.put({ ...grant, revision: 2 });
    expect(ask(index).held).toHaveLength(1);
  });

  it("takes a new grant from the store, and keeps a copy of every record", async () => {
    const grant = sampleGrant();
    const index = indexOf();
    await new GrantFollower(index, reader(grant)).heard([grant.grantId, "unknown"]);
    expect(ask(index).held).toHaveLength(1);
    const expired = sampleGrant({ expiresAt: NOON - 1 });
    const other = indexOf(expired);
    expired.expiresAt = NOON + HOUR;
    expect(ask(other).held).toEqual([]);
  });
});
