import { createPublicKey } from "node:crypto";
import { hmacSigner, keySetOf } from "@sallyport/engine";
import { APPROVAL_ISSUER, readApprovalToken } from "@sallyport/engine/host";
import type { Authority } from "@sallyport/engine/ports";
import { describe, expect, it } from "vitest";
import { must } from "../../must.ts";
import type { Principal } from "../principal.ts";
import { agent, OPERATOR, refusal, refused } from "./fixtures/ask.ts";
import { type FixtureDoor, keyPair, SUM } from "./fixtures/door.ts";
import { opening } from "./fixtures/opening.ts";

const openDoor = opening();

const LEVELS = [
  { level: 1, approvers: ["ann", "carol"], timeoutMs: 3_600_000 },
  { level: 2, approvers: ["boss"], timeoutMs: 3_600_000 },
];

async function open(engine: Parameters<typeof openDoor>[1] = {}): Promise<FixtureDoor> {
  return await openDoor([SUM], engine);
}

/** A call that waits for a person. */
async function question(door: FixtureDoor): Promise<{ approval_id: string; invocation_id: string }> {
  const body = { tool_id: "sum", parameters: { a: 1, b: 1 }, execution_options: { require_approval: true } };
  const { json } = await door.ask("invokeTool", { body });
  const invocation_id = String(json.invocation_id);
  const status = await door.ask("getInvocation", { params: { invocation_id } });
  return { approval_id: String(status.json.approval_id), invocation_id };
}

function approver(approvalId: string, { name = "carol", level = 1 } = {}): Principal {
  const pass = {
    approvalId,
    callId: "c",
    tool: "sum",
    approver: name,
    level,
    expiresAt: Date.now() + 600_000,
  };
  return { kind: "approver", pass };
}

describe("GET /v1/approvals", () => {
  it("lists what waits, newest first, page by page", async () => {
    const door = await open();
    const first = await question(door);
    const second = await question(door);
    const list = (query = {}) => door.ask("listApprovals", { query, principal: OPERATOR });
    const { json } = await list({ limit: "1" });
    expect(json.approvals).toMatchObject([{ approval_id: second.approval_id, state: "pending" }]);
    const next = await list({ limit: "1", cursor: String(json.next_cursor) });
    expect(next.json.approvals).toMatchObject([{ approval_id: first.approval_id }]);
    expect(next.json).not.toHaveProperty("next_cursor");
    await door.ask("deny", {
      params: { approval_id: first.approval_id },
      body: { reason: "no" },
      principal: OPERATOR,
    });
    expect((await list()).json.approvals).toMatchObject([{ approval_id: second.approval_id }]);
    expect((await list({ state: "denied" })).json.approvals).toMatchObject([
      { approval_id: first.approval_id, settled_by: "ann", settled_because: "no" },
    ]);
    expect((await list({ tenant: "other" })).json.approvals).toEqual([]);
  });

  it("fills a page, although newer ones stand otherwise, and pages to the last", async () => {
    let now = Date.now();
    const clock = { now: () => now };
    const door = await open({ engine: { clock }, parts: { clock } });
    // The last level of these two ends before they are listed.
    const expired = [(await question(door)).approval_id];
    now += 1;
    expired.unshift((await question(door)).approval_id);
    now += 30 * 86_400_000;
    for (let n = 0; n < 5; n += 1) await question(door);
    const list = (query = {}) =>
      door.ask("listApprovals", { query: { state: "expired", ...query }, principal: OPERATOR });
    const idsOf = ({ approvals }: Record<string, unknown>) =>
      (approvals as { approval_id: string }[]).map(({ approval_id }) => approval_id);
    const { json } = await list({ limit: "1" });
    expect(idsOf(json)).toEqual(expired.slice(0, 1));
    const next = await list({ limit: "1", cursor: String(json.next_cursor) });
    expect(idsOf(next.json)).toEqual(expired.slice(1));
    expect(next.json).not.toHaveProperty("next_cursor");
    expect(idsOf((await list({ limit: "2" })).json)).toEqual(expired);
  });

  it("shows as expired what is past its time, whether or not that is on record", async () => {
    let now = Date.now();
    const clock = { now: () => now };
    const door = await open({ engine: { clock }, parts: { clock } });
    const { approval_id } = await question(door);
    now += 7 * 86_400_000;
    const list = (query = {}) => door.ask("listApprovals", { query, principal: OPERATOR });
    expect((await list()).json.approvals).toEqual([]);
    expect((await list({ state: "expired" })).json.approvals).toMatchObject([
      { approval_id, state: "expired" },
    ]);
  });
});

describe("GET /v1/approvals/{approval_id}", () => {
  it("shows the question to operators and to whom its token is for, and to nobody else", async () => {
    const door = await open();
    const { approval_id, invocation_id } = await question(door);
    const show = (principal: Principal) => door.ask("getApproval", { params: { approval_id }, principal });
    expect((await show(OPERATOR)).json).toMatchObject({
      approval_id,
      invocation_id,
      because: "caller",
      input: { a: 1, b: 1 },
      present_level: 1,
      quorum: 1,
      votes: [],
    });
    expect((await show(approver(approval_id))).status).toBe(200);
    for (const stranger of [approver("other"), agent("bob"), { kind: "anyone" } as const]) {
      expect(await refusal(show(stranger))).toBe("E3221");
    }
    expect(
      await refusal(door.ask("getApproval", { params: { approval_id: "no" }, principal: OPERATOR })),
    ).toBe("E3221");
  });
});

describe("answers to a question", () => {
  it("count in the name of who gives them: an operator's, or the token's approver", async () => {
    const door = await open({ engine: { approvals: { levels: LEVELS, quorum: 2 } } });
    const { approval_id } = await question(door);
    const params = { approval_id };
    const first = await door.ask("approve", { params, body: { comment: "fine" }, principal: OPERATOR });
    expect(first.json).toMatchObject({ state: "pending", votes: [{ by: "ann", comment: "fine" }] });
    const second = await door.ask("approve", { params, principal: approver(approval_id) });
    expect(second.json).toMatchObject({ votes: [{ by: "ann" }, { by: "carol" }] });
    expect(["approved", "reserved", "consumed"]).toContain(second.json.state);
  });

  it("do not count from a token for another approval or a later level, or from somebody who is not asked", async () => {
    const door = await open({ engine: { approvals: { levels: LEVELS } } });
    const { approval_id } = await question(door);
    const answer = (principal: Principal) =>
      refusal(door.ask("deny", { params: { approval_id }, body: { reason: "no" }, principal }));
    expect(await answer(approver("other"))).toBe("E3221");
    expect(await answer(approver(approval_id, { name: "carol", level: 2 }))).toBe("E3226");
    expect(await answer(approver(approval_id, { name: "boss" }))).toBe("E3226");
    expect(await answer(approver(approval_id, { name: "eve" }))).toBe("E3226");
    expect(await answer(agent("bob"))).toBe("E3221");
  });

  it("deny a call at once, with the reason", async () => {
    const door = await open();
    const { approval_id, invocation_id } = await question(door);
    const sent = { params: { approval_id }, body: { reason: "not this" }, principal: OPERATOR };
    expect((await door.ask("deny", sent)).json.state).toBe("denied");
    const { json } = await door.ask("getInvocation", { params: { invocation_id } });
    expect(json).toMatchObject({ status: "permission_denied", error: { details: { code: "E3214" } } });
    expect(await refusal(door.ask("approve", { params: { approval_id }, principal: OPERATOR }))).toBe(
      "E3222",
    );
    expect(await refusal(door.ask("deny", { ...sent, body: {} }))).toBe("E3903");
  });

  it("can be a yes to other arguments; who has seen the old ones has to look again", async () => {
    const door = await open({ engine: { approvals: { levels: LEVELS, quorum: 2 } } });
    const { approval_id } = await question(door);
    const params = { approval_id };
    const edited = await door.ask("editApproval", {
      params,
      body: { input: { a: 5, b: 5 } },
      principal: OPERATOR,
    });
    expect(edited.json).toMatchObject({ input: { a: 5, b: 5 }, edited_by: "ann" });
    const yes = (body: object) => door.ask("approve", { params, body, principal: approver(approval_id) });
    expect(await refusal(yes({}))).toBe("E3216");
    expect((await yes({ digest: edited.json.digest })).json.votes).toHaveLength(2);
    const wrong = { params, body: { input: { a: "x" } }, principal: OPERATOR };
    expect(await refusal(door.ask("editApproval", wrong))).toMatch(/^E3(222|901)$/);
  });

  it("can hold for calls like it, when an operator says so and a grant could answer", async () => {
    const door = await open({ engine: { signer: hmacSigner(Buffer.alloc(32, 1)) } });
    const { approval_id } = await question(door);
    const always = { arguments: "exact", expires_in_seconds: 60 };
    const ask = (principal: Principal) =>
      refused(door.ask("approve", { params: { approval_id }, body: { always }, principal }));
    expect(await ask(approver(approval_id))).toMatchObject({
      code: "E3226",
      advice: expect.stringContaining("without always"),
    });
    // The caller asked for approval itself, which no grant can answer.
    expect(await ask(OPERATOR)).toMatchObject({ code: "E3220" });
  });

  it("make a grant of an operator's always, as strong as the server says", async () => {
    const asks = { reason: "policy", rules: [], capabilities: [], missing: [], policyVersion: "1" };
    const authority: Authority = { decide: () => ({ ...asks, outcome: "ask", tier: "user" }) };
    const door = await open({ engine: { authority, signer: hmacSigner(Buffer.alloc(32, 1)) } });
    const { approval_id } = await question(door);
    const always = { arguments: [{ pointer: "/a", match: { equals: 1 } }], expires_in_seconds: 60 };
    await door.ask("approve", { params: { approval_id }, body: { always }, principal: OPERATOR });
    const { json } = await door.ask("listGrants", { principal: OPERATOR });
    expect(json.grants).toMatchObject([
      {
        kind: "standing",
        grantor: "ann",
        tier: "operator",
        approval_id,
        agent_did: "http",
        arguments: always.arguments,
      },
    ]);
  });
});

describe("POST /v1/approvals/{approval_id}/tokens", () => {
  const publicKey = createPublicKey(keyPair.publicKey.export({ type: "spki", format: "pem" }));
  const keys = must(keySetOf([{ kid: "test", publicKey, issuers: [APPROVAL_ISSUER] }]));

  it("makes a token for one person, one approval and one level [L3P2-2]", async () => {
    const door = await open({ engine: { approvals: { levels: LEVELS } } });
    const { approval_id, invocation_id } = await question(door);
    const body = { approver: "boss", level: 2, expires_in_seconds: 60 };
    const { status, json } = await door.ask("createApprovalToken", {
      params: { approval_id },
      body,
      principal: OPERATOR,
    });
    expect(status).toBe(201);
    expect(readApprovalToken(String(json.token), keys, Date.now())).toMatchObject({
      approvalId: approval_id,
      callId: invocation_id,
      tool: "sum",
      approver: "boss",
      level: 2,
      expiresAt: Date.parse(String(json.expires_at)),
    });
  });

  it("is for the present level and as long as the approval, unless it is said otherwise", async () => {
    const door = await open({ engine: { approvals: { levels: LEVELS } } });
    const { approval_id } = await question(door);
    const make = (body: object) =>
      door.ask("createApprovalToken", { params: { approval_id }, body, principal: OPERATOR });
    const shown = await door.ask("getApproval", { params: { approval_id }, principal: OPERATOR });
    const { json } = await make({ approver: "ann", expires_in_seconds: 1e9 });
    expect(json.level).toBe(1);
    expect(Date.parse(String(json.expires_at))).toBeLessThanOrEqual(
      Date.parse(String(shown.json.expires_at)),
    );
    expect(await refusal(make({ approver: "ann", level: 3 }))).toBe("E3903");
    await door.ask("deny", { params: { approval_id }, body: { reason: "no" }, principal: OPERATOR });
    expect(await refusal(make({ approver: "ann" }))).toBe("E3222");
  });
});
