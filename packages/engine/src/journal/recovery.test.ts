import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { IsolationRules } from "../ports/sandbox.ts";
import type { FileRollback, Workspaces } from "../ports/workspace.ts";
import { auditOf, crashed, errorOf, fixtureEngine } from "../testing/fixture-engine.ts";
import { moved, sampleApproval } from "../testing/store-samples.ts";

/** A store on which one call was cut off while its tool ran. */
async function interrupted(sideEffects: string, files: { callId: string; rollback: FileRollback }[] = []) {
  const store = createMemoryStore();
  const begun = Promise.withResolvers<void>();
  const stay = () => {
    begun.resolve();
    return new Promise(() => undefined);
  };
  const tool = { id: "pay", run: stay, conduct: { sideEffects } };
  const before = await fixtureEngine({ store }, [tool]);
  void before.call("pay", { n: 1 }, { callId: "cut", idempotencyKey: "k" });
  await begun.promise;
  await crashed(store);
  let ranAgain = false;
  const run = () => {
    ranAgain = true;
    return "again";
  };
  const workspaces = { recover: async () => files } as Partial<Workspaces> as Workspaces;
  const isolation = { workspaces } as Partial<IsolationRules> as IsolationRules;
  const after = await fixtureEngine({ store, ...(files.length > 0 && { isolation }) }, [{ ...tool, run }]);
  return { ...after, hasRun: () => ranAgain };
}

describe("recovery", () => {
  it("finds that nothing of a call with transactional effects took place, and closes it [R1-7.2]", async () => {
    const { engine, store, call, hasRun } = await interrupted("state");
    expect(await engine.recover()).toMatchObject([{ verdict: "never_started", callId: "cut" }]);
    expect((await auditOf(store)).slice(-2).map(({ state }) => state)).toEqual(["ABORTED", "ROLLED_BACK"]);
    expect(await engine.standing("cut")).toMatchObject({
      answer: { error: { code: "E3107" }, rollback: { verified: true } },
    });
    expect(errorOf(await call("pay", { n: 1 }, { idempotencyKey: "k" })).code).toBe("E3107");
    expect(hasRun()).toBe(false);
    expect(await engine.recover()).toEqual([]);
  });

  it("calls no call undone of which files were left in the workspace [R1-7.2] [D-4]", async () => {
    const rollback = {
      verified: false,
      hash: "",
      discarded: 1,
      left: [{ path: "half.txt", what: "is half written" }],
    };
    const { engine, store, hasRun } = await interrupted("state", [{ callId: "cut", rollback }]);
    expect(await engine.recover()).toMatchObject([{ verdict: "outcome_unknown", callId: "cut" }]);
    expect((await store.calls.get("cut"))?.phase).toBe("unknown");
    expect(await engine.recover()).toMatchObject([{ verdict: "outcome_unknown", callId: "cut" }]);
    expect(hasRun()).toBe(false);
  });

  it("gives every reserved approval of an earlier process back, however many there are [FR-APR-03]", async () => {
    const store = createMemoryStore();
    const records = Array.from({ length: 450 }, () => sampleApproval());
    const unit = { tenant: "acme" };
    await store.commit({ ...unit, approvals: records.map((record) => ({ record })) });
    const reserved = records.map((record) => ({ record: moved(record, "reserved"), expect: 1 }));
    await store.commit({ ...unit, approvals: reserved });
    const { engine } = await fixtureEngine({ store });
    await engine.recover();
    expect(await store.approvals.list({ states: ["reserved"], limit: 999 })).toEqual([]);
  });

  it("leaves a call that may have changed the world for a person, and never runs it again [D-4]", async () => {
    const { engine, store, call, hasRun } = await interrupted("external");
    expect(await engine.recover()).toMatchObject([{ verdict: "outcome_unknown", callId: "cut" }]);
    expect((await auditOf(store)).at(-1)).toMatchObject({
      state: "OUTCOME_UNKNOWN",
      error: { code: "E3909" },
    });
    const again = await call("pay", { n: 1 }, { idempotencyKey: "k" });
    expect(errorOf(again).code).toBe("E3909");
    expect(await store.calls.get(again.callId)).toMatchObject({ idempotencyKey: "k" });
    expect(await engine.recover()).toMatchObject([{ verdict: "outcome_unknown" }]);
    expect((await auditOf(store)).filter(({ state }) => state === "OUTCOME_UNKNOWN")).toHaveLength(1);
    expect(hasRun()).toBe(false);
  });

  it("has nothing to find of a call without side effects", async () => {
    const { engine } = await interrupted("none");
    expect(await engine.recover()).toEqual([]);
  });

  it("does not touch calls that are running here", async () => {
    const begun = Promise.withResolvers<void>();
    const run = () => {
      begun.resolve();
      return new Promise(() => undefined);
    };
    const { engine, call } = await fixtureEngine({}, [
      { id: "slow", run, conduct: { sideEffects: "external" } },
    ]);
    void call("slow", {}, { callId: "live" });
    await begun.promise;
    expect(await engine.recover()).toEqual([]);
    expect(await engine.standing("live")).toMatchObject({ status: "running" });
    await engine.close();
  });
});

describe("a person's word", () => {
  it.each([
    ["completed", "success", ["COMPLETED", "CLOSED_BY_PERSON"]],
    ["rolled_back", "cancelled", ["ABORTED", "ROLLED_BACK", "CLOSED_BY_PERSON"]],
  ] as const)(
    "closes an unknown outcome as %s, on record with who and why, which the caller is not told",
    async (as, status, states) => {
      const { engine, store, call } = await interrupted("external");
      await engine.recover();
      const closed = await engine.closeByPerson({
        callId: "cut",
        as,
        by: "ada",
        note: "checked the ledger",
        result: { paid: true },
      });
      expect(closed).toMatchObject({ status, callId: "cut" });
      const events = (await auditOf(store)).slice(-states.length);
      expect(events.map(({ state }) => state)).toEqual(states);
      expect(events.at(-1)).toMatchObject({ note: "ada: checked the ledger" });
      const again = await call("pay", { n: 1 }, { idempotencyKey: "k" });
      expect(again).toMatchObject({ status, replayed: true });
      expect(JSON.stringify([closed, again])).not.toContain("ledger");
    },
  );

  it("is not needed for a call that is not waiting for it", async () => {
    const { engine, call } = await fixtureEngine({}, [{ id: "ok", run: () => 1 }]);
    const { callId } = await call("ok", {});
    const word = { as: "completed", by: "ada", note: "n" } as const;
    const codes = [];
    for (const id of [callId, "nobody"]) {
      const closed = await engine.closeByPerson({ callId: id, ...word });
      codes.push(isFailure(closed) && closed.code);
    }
    expect(codes).toEqual(["E3918", "E3917"]);
  });
});
