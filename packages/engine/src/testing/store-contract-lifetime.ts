import { describe, expect, it, type TestContext } from "vitest";
import type { Store } from "../ports/store.ts";
import type { OpenFixture, StoreFixture } from "./store-contract.ts";
import { applied, opening, put, refusal, sampleCall, sampleTool, unitOf } from "./store-contract-samples.ts";

const SCOPE = { tenant: "acme", tool: "calc" };

/** After `close` everything rejects; what was acknowledged is there when the store is opened again. */
export function lifetimeContract(open: OpenFixture): void {
  describe("closing and opening again", () => {
    it("makes every later use reject with E3914", async () => {
      const { store } = await open();
      const snapshot = await store.state.open(SCOPE);
      await store.close();
      await store.close();
      expect(() => store.state.release(snapshot)).not.toThrow();
      for (const [name, use] of Object.entries(usesOf(store))) {
        await expect(use(), name).rejects.toMatchObject({ failure: { code: "E3914" } });
      }
    });

    it("finishes what was under way when it was closed", async () => {
      const { store } = await open();
      const units = Array.from({ length: 50 }, () => store.commit(opening(sampleCall())));
      const closed = store.close();
      expect((await Promise.all(units)).every(({ ok }) => ok)).toBe(true);
      await closed;
    });

    it("finds everything that was acknowledged", async (context) => {
      const fixture = await open();
      const before = await fill(fixture.store);
      const store = await reopened(fixture, context);
      expect(await contentsOf(store)).toEqual(before);
    });

    it("goes on with chain, outbox, versions and keys where they stood", async (context) => {
      const fixture = await open();
      const { length } = (await fill(fixture.store)).events;
      const last = (await fixture.store.outbox.pending(10)).at(-1)?.position ?? 0;
      await fixture.store.outbox.delivered(last);
      const store = await reopened(fixture, context);
      const next = unitOf({ events: ["{}"], outbox: [{ callId: "x", type: "tool.failed" }] });
      expect((await applied(store, next)).links[0]?.sequence).toBe(length + 1);
      expect((await store.outbox.pending(10))[0]?.position).toBeGreaterThan(last);
      expect((await store.state.open(SCOPE)).version).toBe(2);
      const again = opening(sampleCall({ idempotencyKey: "kept" }));
      expect((await refusal(store, again)).kind).toBe("idempotency");
    });
  });
}

async function reopened({ reopen }: StoreFixture, context: TestContext): Promise<Store> {
  return reopen === undefined ? context.skip("nothing survives this store") : reopen();
}

async function fill(store: Store) {
  const call = sampleCall({ idempotencyKey: "kept" });
  const outbox = [{ callId: call.callId, type: "tool.succeeded" as const }];
  await applied(store, { ...opening(call), outbox, tools: [{ record: sampleTool("calc", "1.0.0") }] });
  await put(store, SCOPE, { a: 1, b: 2 });
  await put(store, SCOPE, { a: undefined });
  return contentsOf(store);
}

async function contentsOf(store: Store) {
  const snapshot = await store.state.open(SCOPE);
  const keys = await store.state.keys(snapshot, { prefix: "", limit: 10 });
  const values = await Promise.all(keys.map((key) => store.state.get(snapshot, key)));
  store.state.release(snapshot);
  return {
    calls: await store.calls.list({ limit: 10 }),
    events: await store.audit.read("acme", { after: 0, limit: 10 }),
    messages: await store.outbox.pending(10),
    tools: await store.tools.all(),
    state: keys.map((key, index) => [key, values[index]]),
  };
}

function usesOf(store: Store): Record<string, () => Promise<unknown>> {
  const snapshot = { scope: SCOPE, version: 0 };
  return {
    commit: () => store.commit(unitOf({})),
    "calls.get": () => store.calls.get("a"),
    "calls.byIdempotencyKey": () => store.calls.byIdempotencyKey({ tenant: "a", agent: "a", key: "a" }),
    "calls.list": () => store.calls.list({ limit: 1 }),
    "state.open": () => store.state.open(SCOPE),
    "state.get": () => store.state.get(snapshot, "a"),
    "state.keys": () => store.state.keys(snapshot, { prefix: "", limit: 1 }),
    "state.writtenBy": () => store.state.writtenBy(SCOPE, "a"),
    "audit.tenants": () => store.audit.tenants(),
    "audit.head": () => store.audit.head("a"),
    "audit.read": () => store.audit.read("a", { after: 0, limit: 1 }),
    "outbox.pending": () => store.outbox.pending(1),
    "outbox.delivered": () => store.outbox.delivered(1),
    "tools.all": () => store.tools.all(),
  };
}
