import { expect, type TestContext } from "vitest";
import { type Method, mapMethods } from "../map-methods.ts";
import type { Store } from "../ports/store.ts";
import {
  applied,
  batchOf,
  contentsOf,
  moved,
  opening,
  pendingOf,
  put,
  queueing,
  refusal,
  type StoreFixture,
  type StoreTest,
  sampleApproval,
  sampleCall,
  sampleCallback,
  sampleIntent,
  sampleRevocation,
  sampleStandingGrant,
  sampleTool,
  unitOf,
} from "./store-samples.ts";

const SCOPE = { tenant: "acme", tool: "calc" };

/** After `close` everything rejects; what was acknowledged is there when the store is opened again. */
export function lifetimeContract(it: StoreTest): void {
  it("makes every later use reject with E3914", async ({ store }) => {
    await store.close();
    await store.close();
    // Suits every method.
    const page = { tenant: "a", agent: "a", key: "a", prefix: "", after: 0, limit: 1, ids: [] };
    const anything = { ...unitOf({}), ...page, tool: "a", scope: SCOPE, version: 0 };
    const uses = usesOf(store);
    expect(uses.size).toBeGreaterThan(20);
    for (const [path, use] of uses) {
      await expect(use(anything, anything), path).rejects.toMatchObject({ failure: { code: "E3914" } });
    }
  });

  it("finishes what was under way when it was closed", async ({ store }) => {
    const units = Array.from({ length: 50 }, () => store.commit(opening(sampleCall())));
    const closed = store.close();
    expect((await Promise.all(units)).every(({ ok }) => ok)).toBe(true);
    await closed;
  });

  it("finds everything that was acknowledged, and goes on with approvals [FR-APR-03]", async ({
    fixture,
    skip,
  }) => {
    const before = await fill(fixture.store);
    const store = await reopened(fixture, skip);
    expect(await contentsOf(store)).toEqual(before);
    expect(before).toMatchObject({
      orders: ["hunter2"],
      grants: [{ uses: 1 }],
      revocations: [{ by: "ada" }],
      queue: [{ order: "hunter3" }],
      callbacks: [{ attempts: 1, problem: "no answer" }],
    });
    await settle(store, before);
    await beginQueued(store, before);
  });

  it("goes on with chain, outbox, versions and keys where they stood", async ({ fixture, skip }) => {
    const { length } = (await fill(fixture.store)).units;
    const ids = (await pendingOf(fixture.store)).map(({ id }) => id);
    await fixture.store.outbox.delivered({ sink: "s", ids });
    const store = await reopened(fixture, skip);
    const next = unitOf({ audit: "{}", outbox: batchOf(["x"]) });
    expect((await applied(store, next)).link?.sequence).toBe(length + 1);
    await store.outbox.delivered({ sink: "s", ids });
    expect(await pendingOf(store)).toMatchObject([{ events: batchOf(["x"]).events }]);
    expect((await store.state.open(SCOPE)).version).toBe(2);
    const again = opening(sampleCall({ idempotencyKey: "kept" }));
    expect((await refusal(store, again)).kind).toBe("idempotency");
  });
}

async function reopened({ reopen }: StoreFixture, skip: TestContext["skip"]): Promise<Store> {
  return reopen === undefined ? skip("nothing survives this store") : reopen();
}

async function fill(store: Store) {
  const call = sampleCall({ idempotencyKey: "kept" });
  const outbox = batchOf([call.callId]);
  await applied(store, { ...opening(call), outbox, tools: [{ record: sampleTool("calc", "1.0.0") }] });
  await fillPermits(store);
  await fillQueue(store);
  await put(store, SCOPE, { a: 1, b: 2 });
  await put(store, SCOPE, { a: undefined });
  return contentsOf(store);
}

/** A waiting call with its approval, a grant that was used, a revoked token and a version in quarantine. */
async function fillPermits(store: Store): Promise<void> {
  const call = sampleIntent({ phase: "waiting" });
  const grant = sampleStandingGrant();
  const quarantine = { at: 5, reason: "It reached outside.", by: "sallyport", callId: call.callId };
  await applied(store, {
    ...opening(call),
    approvals: [{ record: sampleApproval({ callId: call.callId }), order: "hunter2" }],
    grants: [{ record: grant }],
    grantUses: [{ grantId: grant.grantId, at: 7 }],
    revocations: [sampleRevocation()],
    tools: [{ record: { ...sampleTool("zip", "1.0.0"), quarantine } }],
  });
}

/** Two accepted calls, of which the first has begun, and a callback that was tried once. */
async function fillQueue(store: Store): Promise<void> {
  const [first, second] = [sampleIntent({ phase: "queued" }), sampleIntent({ phase: "queued" })];
  for (const call of [first, second]) await applied(store, queueing(call, { order: "hunter3" }));
  const callback = sampleCallback({ callId: first.callId, attempts: 1, problem: "no answer" });
  await applied(store, unitOf({ begin: first, callbacks: [{ callback }] }));
}

/** Consumes the approval and begins the call that were filled in. */
async function settle(store: Store, { approvals, calls }: Awaited<ReturnType<typeof contentsOf>>) {
  const [approval] = approvals;
  const waiting = calls.find(({ phase }) => phase === "waiting");
  if (!approval || !waiting) throw new Error("Nothing waits.");
  const record = moved(approval, "consumed");
  const unit = unitOf({ begin: waiting, approvals: [{ record, expect: 1, order: null }] });
  await applied(store, unit);
  expect((await refusal(store, unit)).kind).toBe("not_waiting");
}

/** Begins the call that was left queued, and accepts another behind it. */
async function beginQueued(store: Store, { calls, queue }: Awaited<ReturnType<typeof contentsOf>>) {
  const left = calls.find(({ phase }) => phase === "queued");
  if (!left) throw new Error("Nothing is queued.");
  expect(queue.map(({ callId }) => callId)).toEqual([left.callId]);
  expect(await store.queue.order(left.callId)).toBe("hunter3");
  const next = sampleIntent();
  await applied(store, queueing(next));
  await applied(store, unitOf({ begin: left }));
  expect((await contentsOf(store)).queue.map(({ callId }) => callId)).toEqual([next.callId]);
}

/** Every method that must not be used after `close`, by its path. */
function usesOf(store: Store): Map<string, Method> {
  const uses = new Map<string, Method>();
  mapMethods(store, (method, path) => {
    uses.set(path, method);
    return method;
  });
  for (const path of ["close", "probe"]) uses.delete(path);
  return uses;
}
