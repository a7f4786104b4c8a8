import { type Failure, isFailure, type JsonObject } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { CapabilityTree, GrantIndex, hmacSigner, isGenuine } from "../authorise/grant/index.ts";
import type { StandingDraft } from "../authorise/standing-grant.ts";
import { MemoryBus } from "../memory/platform.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import type { RunningCalls } from "../running/running-calls.ts";
import { auditOf } from "../testing/fixture-engine.ts";
import { authorityRequest } from "../testing/samples.ts";
import { Grants, type GrantsContext } from "./grants.ts";

const NOW = Date.UTC(2026, 0, 1, 12);
const SIGNER = hmacSigner(Buffer.alloc(32, 3));
const OPERATOR = { id: "olga", operator: true };

const DRAFT = {
  tenant: "acme",
  capabilityId: "filesystem.read",
  grantee: { type: "TOOL" as const, id: "file.read" },
  grantor: OPERATOR,
};

const STANDING: StandingDraft = {
  kind: "standing",
  tenant: "acme",
  grantor: "olga",
  tier: "user",
  tool: "file.read",
  versions: "^1.0.0",
  operations: ["run"],
  arguments: [{ pointer: "", match: { equals: { path: "/a", token: "eyJhbGciOi.eyJzdWIiOi.sig" } } }],
  agent: "agent-7",
};

function open(change: Partial<GrantsContext> = {}) {
  const store = createMemoryStore();
  const bus = new MemoryBus();
  const grantIndex = new GrantIndex(SIGNER);
  const messages: JsonObject[] = [];
  bus.subscribe("grants:updates", (message) => void messages.push(message));
  let ids = 0;
  const next = () => {
    ids += 1;
    return `id-${ids}`;
  };
  const context: GrantsContext = {
    store,
    clock: { now: () => NOW },
    ids: { next },
    bus,
    signer: SIGNER,
    capabilities: new CapabilityTree(),
    grantIndex,
    ...change,
  };
  return { book: new Grants(context), context, store, bus, grantIndex, messages };
}

function ok<Answer extends object>(answer: Answer | Failure): Answer {
  if (isFailure(answer)) throw new Error(`${answer.message} ${JSON.stringify(answer.issues)}`);
  return answer;
}

/** A store on which somebody else changes a grant just before each of the first commits. */
function contested(
  store: Store,
  times: number,
  meddle: () => Promise<void>,
): Pick<Store, "commit" | "grants"> {
  let left = times;
  return {
    grants: store.grants,
    commit: async (unit: UnitOfWork) => {
      if (left > 0) {
        left -= 1;
        await meddle();
      }
      return await store.commit(unit);
    },
  };
}

describe("the grant book", () => {
  it("issues a grant: stored, on record, announced and in force at once [R3-2]", async () => {
    const { book, store, grantIndex, messages } = open();
    const grant = ok(await book.issue({ ...DRAFT, expiresAt: NOW + 1_000 }));
    expect(await book.get(grant.grantId)).toEqual(grant);
    expect(await book.list()).toEqual([grant]);
    expect(isGenuine(grant, SIGNER)).toBe(true);
    expect(await auditOf(store)).toMatchObject([
      {
        state: "GRANT_ISSUED",
        tenant: "acme",
        grantId: grant.grantId,
        capabilityId: "filesystem.read",
        grantor: "olga",
        grantee: { type: "TOOL", id: "file.read" },
        expiresAt: NOW + 1_000,
        timestamp: NOW,
        signature: grant.signature,
      },
    ]);
    expect(messages).toEqual([{ changed: [grant.grantId], revoked: [] }]);
    const query = { request: authorityRequest({ at: NOW }) };
    expect(grantIndex.capabilitiesFor(query, ["filesystem.read"]).held).toHaveLength(1);
  });

  it("a refused grant leaves no trace", async () => {
    const { book, store, messages } = open();
    expect(await book.issue({ ...DRAFT, capabilityId: "process.spawn" })).toMatchObject({ code: "E3220" });
    expect([await book.list(), await auditOf(store), messages]).toEqual([[], [], []]);
  });

  it("without a key nothing is given (E3227), and still everything can be taken back", async () => {
    const { book, store } = open();
    const grant = ok(await book.issue(DRAFT));
    const blind = open({ store, signer: undefined }).book;
    for (const answer of [
      await blind.issue(DRAFT),
      await blind.delegate(grant.grantId, { grantee: DRAFT.grantee, grantor: OPERATOR }),
      await blind.allow(STANDING),
    ])
      expect(answer).toMatchObject({ code: "E3227" });
    expect(await blind.revoke(grant.grantId, { by: "olga", reason: "key lost" })).toMatchObject({
      revoked: [{ grantId: grant.grantId }],
    });
  });

  it("delegates, and revokes the whole line in one unit with its events and calls [R3-3]", async () => {
    const asked: string[][] = [];
    const withdraw: RunningCalls["withdraw"] = ({ grants = [] }, why) => {
      asked.push([why.code, ...grants]);
      return ["call-1"];
    };
    const { book, store, grantIndex, messages } = open({ inFlight: { withdraw } });
    const root = ok(await book.issue({ ...DRAFT, delegatable: true }));
    const other = { type: "TOOL" as const, id: "other.tool" };
    const child = ok(await book.delegate(root.grantId, { grantee: other, grantor: OPERATOR }));
    expect(child).toMatchObject({ parentGrantId: root.grantId, delegationDepth: 1 });
    expect(messages[1]).toEqual({ changed: [child.grantId], revoked: [] });
    const before = await auditOf(store);
    const done = ok(await book.revoke(root.grantId, { by: "olga", reason: "leaked" }));
    const ids = [root.grantId, child.grantId];
    expect(done.revoked.map(({ grantId }) => grantId)).toEqual(ids);
    expect(done.ended).toEqual(["call-1"]);
    expect(asked).toEqual([["E3217", ...ids]]);
    expect(messages[2]).toEqual({ changed: [], revoked: ids });
    const events = (await auditOf(store)).slice(before.length);
    expect(events).toMatchObject([
      { state: "GRANT_REVOKED", grantId: root.grantId, revokedBy: "olga", reason: "leaked" },
      { state: "GRANT_REVOKED", grantId: child.grantId },
    ]);
    const query = { request: authorityRequest({ at: NOW }) };
    expect(grantIndex.capabilitiesFor(query, ["filesystem.read"]).held).toEqual([]);
  });

  it("revoking twice is safe, and revoking nothing is E3221 [R3-3]", async () => {
    const { book, store, messages } = open();
    const grant = ok(await book.issue(DRAFT));
    await book.revoke(grant.grantId, { by: "olga", reason: "done" });
    const again = ok(await book.revoke(grant.grantId, { by: "olga", reason: "done" }));
    expect(again).toMatchObject({ grant: { revokedBecause: "done" }, revoked: [], ended: [] });
    expect([(await auditOf(store)).length, messages.length]).toEqual([2, 2]);
    expect(await book.revoke("nothing", { by: "olga", reason: "x" })).toMatchObject({ code: "E3221" });
    const mallory = { id: "mallory", operator: false };
    expect(await book.revoke(grant.grantId, { by: mallory, reason: "x" })).toMatchObject({ code: "E3220" });
  });

  it("keeps an always-allow, without the secrets in its record [R3-2]", async () => {
    const { book, store, grantIndex } = open();
    const grant = ok(await book.allow(STANDING));
    expect(grantIndex.standing()).toEqual([grant]);
    const [event] = await auditOf(store);
    expect(event).toMatchObject({
      state: "GRANT_ISSUED",
      grantKind: "standing",
      toolId: "file.read",
      tier: "user",
    });
    expect(JSON.stringify(event)).not.toContain("eyJhbGciOi");
    expect(await book.allow({ ...STANDING, expiresAt: NOW })).toMatchObject({
      code: "E3220",
      issues: [{ path: "/expiresAt" }],
    });
  });

  it("begins again when somebody changed the grant meanwhile [R3-3]", async () => {
    const { book, store } = open();
    const root = ok(await book.issue({ ...DRAFT, delegatable: true }));
    const meddler = open({ store }).book;
    let name = 0;
    const delegate = async () => {
      name += 1;
      const grantee = { type: "TOOL" as const, id: `tool-${name}` };
      ok(await meddler.delegate(root.grantId, { grantee, grantor: OPERATOR }));
    };
    const late = open({ store: contested(store, 4, delegate) }).book;
    const done = ok(await late.revoke(root.grantId, { by: "olga", reason: "race" }));
    expect(done.revoked).toHaveLength(5);
    expect((await book.list()).every(({ revokedAt }) => revokedAt === NOW)).toBe(true);
  });

  it("a delegation that loses against a revocation is refused [R3-3]", async () => {
    const { book, store } = open();
    const root = ok(await book.issue({ ...DRAFT, delegatable: true }));
    const revoke = async () => void ok(await book.revoke(root.grantId, { by: "olga", reason: "race" }));
    const late = open({ store: contested(store, 1, revoke) }).book;
    const answer = await late.delegate(root.grantId, { grantee: DRAFT.grantee, grantor: OPERATOR });
    expect(answer).toMatchObject({ code: "E3220", issues: [{ path: "/parent" }] });
    expect(await book.list()).toHaveLength(1);
  });

  it("gives up after five times, having done nothing (E3222)", async () => {
    const { book, store } = open();
    const root = ok(await book.issue({ ...DRAFT, delegatable: true }));
    let name = 0;
    const delegate = async () => {
      name += 1;
      const grantee = { type: "TOOL" as const, id: `tool-${name}` };
      ok(await book.delegate(root.grantId, { grantee, grantor: OPERATOR }));
    };
    const late = open({ store: contested(store, 5, delegate) }).book;
    expect(await late.revoke(root.grantId, { by: "olga", reason: "race" })).toMatchObject({ code: "E3222" });
    expect((await book.list()).some(({ revokedAt }) => revokedAt !== undefined)).toBe(false);
  });

  it("a lost store is thrown, not passed off as a refusal", async () => {
    const { book, store } = open();
    await store.close();
    await expect(book.issue(DRAFT)).rejects.toThrow();
  });
});
