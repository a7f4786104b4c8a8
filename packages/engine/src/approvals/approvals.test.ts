import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createEngine } from "../admin/engine.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { Authority } from "../ports/authority.ts";
import {
  auditOf,
  errorOf,
  fixtureEngine,
  fixtureTool,
  SUM_INPUT,
  statesOf,
} from "../testing/fixture-engine.ts";

/** Asks about everything; the version of its policy can be changed. */
class Asking implements Authority {
  version = "v1";
  outcome: "allow" | "ask" | "deny" = "ask";
  decide() {
    const { outcome, version: policyVersion } = this;
    return {
      outcome,
      reason: "a person decides",
      rules: ["ask"],
      capabilities: [],
      missing: [],
      policyVersion,
    };
  }
}

function counted() {
  const ran: unknown[] = [];
  const tool = {
    id: "pay",
    input: SUM_INPUT,
    run: (input: { a?: number; b?: number }) => {
      ran.push(input);
      return { sum: (input.a ?? 0) + (input.b ?? 0) };
    },
    conduct: { sideEffects: "external" },
  };
  return { ran, tool };
}

async function asked(clock?: { now(): number }) {
  const { ran, tool } = counted();
  const authority = new Asking();
  const fixture = await fixtureEngine({ authority, ...(clock && { clock }) }, [tool]);
  const answer = await fixture.call("pay", { a: 1, b: 2 }, { callId: "one" });
  const approvalId = answer.approval?.approvalId ?? "";
  return { ...fixture, ran, tool, authority, answer, approvalId };
}

describe("a call that needs approval", () => {
  it("answers that it waits, with a way to resolve it, and runs nothing [FR-APR-02] [FR-APR-06]", async () => {
    const { answer, ran, engine, approvalId } = await asked();
    expect(answer.status).toBe("pending_approval");
    expect(errorOf(answer)).toMatchObject({
      code: "E3213",
      details: { approvalId, approvalUnlocks: true, state: "pending", risk: "medium", rules: ["ask"] },
    });
    expect(statesOf(answer)).toEqual(["DECLARED", "VALIDATED"]);
    expect(ran).toEqual([]);
    expect(await engine.standing("one")).toMatchObject({ status: "pending_approval", approvalId });
    expect(await engine.approvals.get(approvalId)).toMatchObject({
      callId: "one",
      summary: "pay run a=1 b=2",
      input: { a: 1, b: 2 },
      because: "policy",
    });
  });

  it("runs once after a yes, when it is asked for again [FR-APR-03]", async () => {
    const { engine, approvalId, ran, store, call } = await asked();
    await engine.approvals.approve(approvalId, { by: "ada" });
    const answer = await engine.resume("one");
    expect(answer).toMatchObject({
      status: "success",
      result: { sum: 3 },
      approval: { approvalId, by: ["ada"] },
    });
    expect(ran).toEqual([{ a: 1, b: 2 }]);
    expect((await engine.approvals.get(approvalId))?.standing.state).toBe("consumed");
    expect(await store.approvals.order(approvalId)).toBeUndefined();
    expect(await engine.resume("one")).toMatchObject({ status: "success", replayed: true });
    expect(errorOf(await call("pay", { a: 1, b: 2 }, { callId: "one" })).code).toBe("E3905");
    expect(ran).toHaveLength(1);
    const states = (await auditOf(store)).map(({ state }) => state);
    expect(states).toEqual([
      "DECLARED",
      "VALIDATED",
      "APPROVAL_REQUESTED",
      "APPROVAL_GIVEN",
      "DECLARED",
      "VALIDATED",
      "AUTHORIZED",
      "EXECUTING",
      "COMPLETED",
      "REFUSED",
    ]);
  });

  it("goes on when the same call is asked for again by its id or its key", async () => {
    const { engine, call, ran } = await asked();
    const keyed = await call("pay", { a: 3, b: 4 }, { idempotencyKey: "k" });
    for (const { approvalId } of await engine.approvals.list({ limit: 9 })) {
      await engine.approvals.approve(approvalId, { by: "ada" });
    }
    expect((await call("pay", { a: 1, b: 2 }, { callId: "one" })).status).toBe("success");
    const again = await call("pay", { a: 3, b: 4 }, { idempotencyKey: "k" });
    expect(again).toMatchObject({ status: "success", callId: keyed.callId });
    expect(errorOf(await call("pay", { a: 3, b: 5 }, { idempotencyKey: "k" })).code).toBe("E3904");
    expect(ran).toHaveLength(2);
  });

  it("by its id with other arguments, or by another caller, is not the same call", async () => {
    const { engine, approvalId, call, ran } = await asked();
    await engine.approvals.approve(approvalId, { by: "ada" });
    expect(errorOf(await call("pay", { a: 9, b: 2 }, { callId: "one" })).code).toBe("E3905");
    const stranger = { tenant: "acme", agent: "other" };
    expect(errorOf(await call("pay", { a: 1, b: 2 }, { callId: "one", caller: stranger })).code).toBe(
      "E3905",
    );
    expect(await engine.resume("one", { caller: stranger })).toMatchObject({ code: "E3917" });
    expect(ran).toEqual([]);
  });

  it("stays pending when it is asked for before anybody answered, and writes nothing each time", async () => {
    const { engine, call, store } = await asked();
    const before = (await auditOf(store)).length;
    expect(await engine.resume("one")).toMatchObject({ status: "pending_approval" });
    expect((await call("pay", { a: 1, b: 2 }, { callId: "one" })).status).toBe("pending_approval");
    expect(await auditOf(store)).toHaveLength(before);
    expect(await engine.approvals.list({ limit: 9 })).toHaveLength(1);
  });

  it("is denied at once when a person says no, with the reason, and never runs", async () => {
    const { engine, approvalId, ran } = await asked();
    await engine.approvals.deny(approvalId, { by: "ada", reason: "wrong account" });
    const answer = await engine.resume("one");
    expect(answer).toMatchObject({
      status: "permission_denied",
      error: { code: "E3214", message: "ada denied it: wrong account" },
    });
    expect(await engine.approvals.approve(approvalId, { by: "bob" })).toMatchObject({ code: "E3222" });
    expect(ran).toEqual([]);
  });

  it("with changed arguments runs those, and the caller sees what really ran", async () => {
    const { engine, approvalId, ran } = await asked();
    const edited = await engine.approvals.edit(approvalId, { by: "ada", input: { a: 1, b: 1 } });
    expect(edited).toMatchObject({ standing: { state: "edited" }, summary: "pay run a=1 b=1" });
    const answer = await engine.resume("one");
    expect(answer).toMatchObject({
      status: "success",
      result: { sum: 2 },
      approval: { by: ["ada"], editedInput: { a: 1, b: 1 } },
    });
    expect(ran).toEqual([{ a: 1, b: 1 }]);
  });

  it.each([
    ["left as it was shown", { path: "b" }, { path: "b" }],
    ["changed, added or moved", { api_key: "new", deep: [1, { password: "other" }], more: true }, undefined],
  ])("takes an edited argument for %s as it really is", async (_, change, expected) => {
    const { ran, tool } = counted();
    const { engine, call } = await fixtureEngine({ authority: new Asking() }, [
      { ...tool, input: { type: "object" } },
    ]);
    const real = { path: "a", api_key: "k-1234567890", deep: [{ password: "hunter2" }, 1] };
    const { approval } = await call("pay", real, { callId: "one" });
    const id = approval?.approvalId ?? "";
    const shown = Object((await engine.approvals.get(id))?.input);
    expect(JSON.stringify(shown)).not.toMatch(/k-1234567890|hunter2/);
    await engine.approvals.edit(id, { by: "ada", input: { ...shown, ...change } });
    expect(await engine.resume("one")).toMatchObject({ status: "success" });
    expect(ran).toEqual([{ ...real, ...(expected ?? change) }]);
  });

  it("is not changed to arguments that are invalid or that the policy denies", async () => {
    const { engine, approvalId, authority } = await asked();
    const bad = await engine.approvals.edit(approvalId, { by: "ada", input: { a: "x" } });
    expect(bad).toMatchObject({ code: "E3901" });
    authority.outcome = "deny";
    const denied = await engine.approvals.edit(approvalId, { by: "ada", input: { a: 1, b: 1 } });
    expect(denied).toMatchObject({ code: "E3209" });
    expect((await engine.approvals.get(approvalId))?.standing.state).toBe("pending");
  });

  it("has to be approved again when the policy changed after the yes", async () => {
    const { engine, approvalId, authority, ran } = await asked();
    await engine.approvals.approve(approvalId, { by: "ada" });
    authority.version = "v2";
    const again = await engine.resume("one");
    expect(again).toMatchObject({ status: "pending_approval" });
    expect((await engine.approvals.get(approvalId))?.standing.state).toBe("void");
    const second = isFailure(again) ? "" : (again.approval?.approvalId ?? "");
    expect(second).not.toBe(approvalId);
    await engine.approvals.approve(second, { by: "ada" });
    expect(await engine.resume("one")).toMatchObject({ status: "success" });
    expect(ran).toHaveLength(1);
  });

  it("is denied, and its approval void, when the policy denies it by now", async () => {
    const { engine, approvalId, authority, ran } = await asked();
    await engine.approvals.approve(approvalId, { by: "ada" });
    authority.outcome = "deny";
    expect(await engine.resume("one")).toMatchObject({ status: "permission_denied" });
    expect((await engine.approvals.get(approvalId))?.standing.state).toBe("void");
    authority.outcome = "ask";
    expect(await engine.resume("one")).toMatchObject({ status: "permission_denied", replayed: true });
    expect(ran).toEqual([]);
  });

  it("expires into a denial when nobody answers", async () => {
    let now = Date.UTC(2026, 0, 1);
    const { engine, approvalId, ran } = await asked({ now: () => now });
    now += 29 * 3_600_000;
    expect((await engine.approvals.get(approvalId))?.standing.state).toBe("expired");
    expect(await engine.approvals.approve(approvalId, { by: "ada" })).toMatchObject({ code: "E3222" });
    expect(await engine.approvals.expireDue()).toBe(1);
    expect(await engine.resume("one")).toMatchObject({
      status: "permission_denied",
      error: { code: "E3215" },
    });
    expect(ran).toEqual([]);
  });

  it("runs once however many ask for it at the same time", async () => {
    const { engine, approvalId, ran } = await asked();
    await engine.approvals.approve(approvalId, { by: "ada" });
    const answers = await Promise.all(Array.from({ length: 8 }, () => engine.resume("one")));
    expect(answers.filter((answer) => !isFailure(answer) && answer.status === "success")).toHaveLength(1);
    expect(ran).toHaveLength(1);
  });

  it("is answered by the first of two people who answer at once", async () => {
    const { engine, approvalId } = await asked();
    const [yes, no] = await Promise.all([
      engine.approvals.approve(approvalId, { by: "ada" }),
      engine.approvals.deny(approvalId, { by: "bob", reason: "no" }),
    ]);
    expect([yes, no].filter(isFailure)).toHaveLength(1);
  });

  it("waits for the answer itself when it is told to, and can be cancelled meanwhile", async () => {
    const { engine, call, ran } = await asked();
    const waiting = call("pay", { a: 5, b: 5 }, { callId: "two", onApproval: "wait" });
    const impatient = new AbortController();
    const { signal } = impatient;
    const other = call("pay", { a: 6, b: 6 }, { callId: "three", onApproval: "wait", signal });
    const pending = await pendingFor(engine, ["two", "three"]);
    expect(await engine.standing("two")).toMatchObject({ status: "pending_approval" });
    await engine.approvals.approve(pending.two ?? "", { by: "ada" });
    expect(await waiting).toMatchObject({ status: "success", result: { sum: 10 } });
    impatient.abort();
    const cancelled = await other;
    expect(errorOf(cancelled).code).toBe("E3906");
    expect((await engine.approvals.get(pending.three ?? ""))?.standing.state).toBe("withdrawn");
    expect(ran).toEqual([{ a: 5, b: 5 }]);
  });

  it("stays on record as waiting when the engine is closed, and goes on in another one", async () => {
    const store = createMemoryStore();
    const { ran, tool } = counted();
    const first = await fixtureEngine({ authority: new Asking(), store }, [tool]);
    const waiting = first.call("pay", { a: 1, b: 2 }, { callId: "one", onApproval: "wait" });
    const { one } = await pendingFor(first.engine, ["one"]);
    await first.engine.close();
    expect((await waiting).status).toBe("pending_approval");
    const engine = await createEngine({ store, authority: new Asking() });
    const { manifest, implementation } = fixtureTool(tool);
    await engine.tools.register(manifest, { implementation });
    await engine.approvals.approve(one ?? "", { by: "ada" });
    expect(await engine.resume("one")).toMatchObject({ status: "success", attempts: 1, executionId: "one" });
    expect(ran).toHaveLength(1);
  });

  it("needs different people when its quorum says so, and never its own agent", async () => {
    const { ran, tool } = counted();
    const { engine, call } = await fixtureEngine({ authority: new Asking(), approvals: { quorum: 2 } }, [
      tool,
    ]);
    const { approval } = await call("pay", { a: 1, b: 2 }, { callId: "one" });
    const id = approval?.approvalId ?? "";
    expect(await engine.approvals.approve(id, { by: "agent" })).toMatchObject({ code: "E3226" });
    await engine.approvals.approve(id, { by: "ada" });
    expect(await engine.resume("one")).toMatchObject({ status: "pending_approval" });
    await engine.approvals.approve(id, { by: "bob" });
    expect(await engine.resume("one")).toMatchObject({ status: "success" });
    expect(ran).toHaveLength(1);
  });

  it("keeps no secret in its question, only in the order that is forgotten once it has run", async () => {
    const { ran, tool } = counted();
    const anyInput = { ...tool, input: { type: "object" } };
    const { engine, call, store } = await fixtureEngine({ authority: new Asking() }, [anyInput]);
    const secret = ["hunter", "2hunter2"].join("");
    const { approval } = await call("pay", { password: secret }, { callId: "one" });
    const id = approval?.approvalId ?? "";
    expect(JSON.stringify(await store.approvals.get(id))).not.toContain(secret);
    expect(await store.approvals.order(id)).toContain(secret);
    await engine.approvals.approve(id, { by: "ada" });
    await engine.resume("one");
    expect(ran).toEqual([{ password: secret }]);
    expect(await store.approvals.order(id)).toBeUndefined();
    expect(JSON.stringify(await auditOf(store))).not.toContain(secret);
  });

  it("is not retried by the runtime: one yes is one execution", async () => {
    let runs = 0;
    const { engine, call } = await fixtureEngine({ authority: new Asking() }, [
      {
        id: "flaky",
        run: async () => {
          runs += 1;
          await new Promise((resolve) => setTimeout(resolve, 200));
        },
        conduct: {
          idempotent: true,
          limits: { timeoutMs: 10, memoryBytes: 1e8 },
          retry: { maxAttempts: 3, baseDelayMs: 1, maxDelayMs: 2 },
        },
      },
    ]);
    const { approval } = await call("flaky", {}, { callId: "one" });
    await engine.approvals.approve(approval?.approvalId ?? "", { by: "ada" });
    expect(await engine.resume("one")).toMatchObject({ status: "timeout" });
    expect(runs).toBe(1);
  });
});

async function pendingFor(
  engine: Awaited<ReturnType<typeof createEngine>>,
  callIds: string[],
): Promise<Record<string, string>> {
  for (let tries = 0; tries < 6_000; tries += 1) {
    const found = await engine.approvals.list({ states: ["pending"], limit: 100 });
    const known = found.filter(({ callId }) => callIds.includes(callId));
    if (known.length === callIds.length) {
      return Object.fromEntries(known.map(({ callId, approvalId }) => [callId, approvalId]));
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("the questions were not put");
}
