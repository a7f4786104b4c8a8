import { describe, expect, it } from "vitest";
import { ConfiguredAuthority } from "../authorise/authority.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import { errorOf, type FixtureTool, fixtureEngine } from "../testing/fixture-engine.ts";
import { givenId, tenantId } from "./call.ts";

const ID = "0198c0de-0000-7000-8000-000000000001";
const as = (tenant: string) => ({ callId: ID, caller: { tenant, agent: "agent" } });

const save: FixtureTool = { id: "save", run: (input) => input, conduct: { sideEffects: "external" } };

describe("a call id that two tenants use", () => {
  it("is each one's own: neither learns of the other's, nor can take it away", async () => {
    const { call, engine, store } = await fixtureEngine({}, [save]);
    const first = await call("save", { n: 1 }, as("acme"));
    const second = await call("save", { n: 2 }, as("other"));
    expect([first.status, second.status]).toEqual(["success", "success"]);
    expect([first.callId, givenId(second.callId)]).toEqual([ID, ID]);
    expect(second.callId).toBe(tenantId(ID, "other"));
    for (const tenant of ["acme", "other"]) {
      expect(errorOf(await call("save", { n: 3 }, as(tenant))).code).toBe("E3905");
    }
    expect((await store.calls.list({ limit: 9 })).map(({ tenant }) => tenant)).toEqual(["other", "acme"]);
    expect((await engine.standing(second.callId))?.of.tenant).toBe("other");
  });

  it("is each one's own while they run, and when they begin at once", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: FixtureTool = { id: "slow", run: async (input) => held.then(() => input) };
    const { call } = await fixtureEngine({}, [slow]);
    const running = ["acme", "other", "third"].map((tenant) => call("slow", tenant, as(tenant)));
    const late = call("slow", "late", as("late"));
    release();
    const answers = await Promise.all([...running, late]);
    expect(answers.map((answer) => "result" in answer && answer.result)).toEqual([
      ...["acme", "other", "third", "late"],
    ]);
    expect(new Set(answers.map(({ callId }) => callId)).size).toBe(4);
  });

  const look: FixtureTool = { id: "look", run: (input) => input };
  /** As another process sees it that looked for the id before the first call was on record. */
  const seenEarlier = (store: Store): Store => {
    let isEarlier = true;
    const get = async (id: string) => (isEarlier ? undefined : await store.calls.get(id));
    const commit = (unit: UnitOfWork) => {
      isEarlier = false;
      return store.commit(unit);
    };
    return { ...store, calls: { ...store.calls, get }, commit };
  };

  it.each([
    ["without effects", "look", false],
    ["with outside effects", "save", false],
    ["accepted", "look", true],
    ["accepted, with outside effects", "save", true],
  ] as const)("is each one's own in two processes at once: %s", async (_kind, tool, isAccepted) => {
    const store = createMemoryStore({ isShared: true });
    const lease = { leaseMs: 15_000, renewMs: 5_000 };
    const [one, two] = [
      await fixtureEngine({ store, lease }, [look, save]),
      await fixtureEngine({ store: seenEarlier(store), lease }, [look, save]),
    ];
    await one.call(tool, 1, as("acme"));
    const request = { tool, input: 2, ...as("other") };
    const end = await (isAccepted ? two.engine.accept(request) : two.engine.call(request));
    expect(end).toMatchObject({ status: isAccepted ? "pending" : "success", callId: tenantId(ID, "other") });
    await expect.poll(async () => (await store.calls.get(end.callId))?.closing?.status).toBe("success");
    expect(errorOf(await one.call(tool, 3, as("acme"))).code).toBe("E3905");
    for (const { engine } of [one, two]) await engine.close();
  });

  it("stays a call's second id once the first is free again: asking again does not run it twice", async () => {
    const { call } = await fixtureEngine({}, [save]);
    const [refused, ran] = await Promise.all([
      call("nosuch", {}, as("attacker")),
      call("save", {}, as("acme")),
    ]);
    expect([refused.status, ran.status]).toEqual(["error", "success"]);
    expect(ran.callId).toBe(tenantId(ID, "acme"));
    expect(errorOf(await call("save", {}, as("acme"))).code).toBe("E3905");
  });

  it("is not told to somebody whom nothing shows to be the tenant, also while the call runs", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: FixtureTool = { id: "slow", run: async (input) => held.then(() => input) };
    const grant = { id: "g", tenants: ["acme"], agents: ["agent"], tools: ["*"], operations: ["*"] };
    const authority = new ConfiguredAuthority({ grants: [{ ...grant, capabilities: [] }] });
    const { call, engine } = await fixtureEngine({ authority }, [slow]);
    const running = call("slow", {}, as("acme"));
    await expect.poll(() => engine.running().length).toBe(1);
    const stranger = { callId: ID, caller: { tenant: "acme", agent: "stranger" } };
    const [taken, free] = [
      await call("slow", {}, stranger),
      await call("slow", {}, { ...stranger, callId: "free" }),
    ];
    expect([errorOf(taken).code, errorOf(free).code]).toEqual(["E3209", "E3209"]);
    release();
    expect((await running).status).toBe("success");
  });
});
