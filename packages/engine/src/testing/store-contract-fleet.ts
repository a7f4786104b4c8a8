import { expect } from "vitest";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { CallbackWrite, CallRecord } from "../ports/calls.ts";
import type { HeldWork, Work, WorkKind } from "../ports/fleet.ts";
import type { Store, UnitOfWork } from "../ports/store.ts";
import {
  applied,
  beginning,
  contentsOf,
  crowd,
  ending,
  moved,
  newCallId,
  ODD_TEXT,
  opening,
  placeOf,
  put,
  queueing,
  refusal,
  type StoreFixture,
  type StoreTest,
  sampleApproval,
  sampleCallback,
  sampleClosing,
  sampleIntent,
  unitOf,
  writing,
} from "./store-samples.ts";

const FAR = 9_000_000_000_000;

/** An instance with a lease that does not end by itself. */
async function joined(store: Store): Promise<string> {
  const instance = `instance-${newCallId()}`;
  await store.instances.renew({ instance, ttlMs: Infinity });
  return instance;
}

/** Resolves when the lease of the instance, which is short, has expired by the store's clock. */
async function expired({ store, advance }: StoreFixture, instance: string): Promise<void> {
  await advance?.(2);
  await expect.poll(() => store.instances.isLive(instance), { timeout: 10_000, interval: 2 }).toBe(false);
}

/** An instance whose lease has expired. */
async function lapsed(fixture: StoreFixture): Promise<string> {
  const instance = `instance-${newCallId()}`;
  await fixture.store.instances.renew({ instance, ttlMs: 1 });
  await expired(fixture, instance);
  return instance;
}

/** Everything an instance can get of a kind. */
function claimed<Kind extends WorkKind>(store: Store, kind: Kind, instance: string): Promise<Work[Kind][]> {
  return store.work.claim({ kind, instance, limit: 999 });
}

/** The processes that use a store say so, each for a time that the store's clock measures. */
export function instancesContract(it: StoreTest): void {
  it("are live while their leases last, each with the lowest slot that is free [X-5]", async ({ store }) => {
    const { instances } = store;
    const first = await instances.renew({ instance: "a", ttlMs: Infinity, about: { host: ODD_TEXT } });
    expect(first).toEqual({ instance: "a", slot: 0, expiresAt: Infinity });
    expect((await instances.renew({ instance: "b", ttlMs: 60_000 })).slot).toBe(1);
    expect((await instances.renew({ instance: "c", ttlMs: 60_000 })).slot).toBe(2);
    await instances.leave("b");
    expect((await instances.renew({ instance: "d", ttlMs: 60_000 })).slot).toBe(1);
    expect(await instances.isLive("a")).toBe(true);
    expect(await instances.isLive("b")).toBe(false);
    expect(await instances.isLive("nobody")).toBe(false);
    const live = await instances.list();
    expect(live.map(({ instance, slot }) => [instance, slot])).toEqual([
      ["a", 0],
      ["d", 1],
      ["c", 2],
    ]);
    expect(live[0]).toMatchObject({ expiresAt: Infinity, about: { host: ODD_TEXT } });
    expect(live[1]?.about).toEqual({});
  });

  it("keep slot, start and what they say of themselves when they renew in time", async ({ store }) => {
    const { instances } = store;
    await instances.renew({ instance: "a", ttlMs: Infinity });
    const before = await instances.renew({ instance: "b", ttlMs: 60_000, about: { pid: 7 } });
    const [, taken] = await instances.list();
    await instances.leave("a");
    const after = await instances.renew({ instance: "b", ttlMs: 600_000 });
    expect(after.slot).toBe(1);
    expect(after.expiresAt).toBeGreaterThan(before.expiresAt);
    expect(await instances.list()).toEqual([{ ...taken, expiresAt: after.expiresAt }]);
  });

  it("are gone when their leases expire, and their slots with them; a late renewal begins anew", async ({
    fixture,
    store,
  }) => {
    const { instances } = store;
    await instances.renew({ instance: "late", ttlMs: 1 });
    await expired(fixture, "late");
    expect(await instances.list()).toEqual([]);
    expect((await instances.renew({ instance: "b", ttlMs: Infinity })).slot).toBe(0);
    expect((await instances.renew({ instance: "late", ttlMs: Infinity })).slot).toBe(1);
    expect(await instances.isLive("late")).toBe(true);
  });

  it("never share a slot, however many come at once", async ({ store }) => {
    const leases = await Promise.all(
      crowd(20, (index) => store.instances.renew({ instance: `i${index}`, ttlMs: Infinity })),
    );
    const slots = leases.map(({ slot }) => slot).sort((one, other) => one - other);
    expect(slots).toEqual(crowd(20, (index) => index));
  });

  it("are all gone when the store is opened anew by the only process that may", async ({ fixture, skip }) => {
    if (!fixture.reopen || fixture.store.isShared) return skip("other processes may still use this store");
    const call = sampleIntent({ owner: await joined(fixture.store) });
    await applied(fixture.store, opening(call));
    const store = await fixture.reopen();
    expect(await store.instances.list()).toEqual([]);
    const [orphan] = await claimed(store, "orphan", await joined(store));
    expect(orphan?.callId).toBe(call.callId);
  });
}

/** An executing call under the run id. */
async function running(store: Store, runId: string, fields: Partial<CallRecord> = {}): Promise<CallRecord> {
  const call = sampleIntent({ runId, ...fields });
  await applied(store, opening(call));
  return call;
}

/** The unit as the run of the call writes it. */
function by(runId: string, { callId }: CallRecord, unit: UnitOfWork): UnitOfWork {
  return { ...unit, fence: { callId, runId } };
}

/** Only the present run of an executing call writes; everything else that carries a fence is refused whole. */
export function fenceContract(it: StoreTest): void {
  it("writes while it is the call's present one, and ends it [X-5]", async ({ store }) => {
    const call = await running(store, "r1", { stagedIn: "folder-1" });
    expect(await store.calls.get(call.callId)).toEqual(call);
    await applied(store, by("r1", call, unitOf({ audit: "{}" })));
    await applied(store, by("r1", call, ending(call)));
    expect(await store.calls.get(call.callId)).toMatchObject({ phase: "closed", runId: "r1" });
  });

  it("is given by the unit that begins a call that waited or was queued", async ({ store }) => {
    for (const phase of ["waiting", "queued"] as const) {
      const call = sampleIntent({ phase });
      await applied(store, phase === "queued" ? queueing(call) : opening(call));
      expect(await refusal(store, by("r1", call, unitOf({})))).toEqual({ kind: "fenced" });
      await applied(store, beginning({ ...call, runId: "r1", stagedIn: "f" }));
      expect(await store.calls.get(call.callId)).toMatchObject({ runId: "r1", stagedIn: "f" });
      await applied(store, by("r1", call, ending(call)));
    }
  });

  it("is refused before anything else when it is another's, or the call does not execute [X-5]", async ({
    store,
  }) => {
    const call = await running(store, "r1");
    const other = await running(store, "r2");
    const ended = await running(store, "r3");
    const unknown = await running(store, "r4");
    await applied(store, ending(ended));
    await applied(store, unitOf({ close: { callId: unknown.callId, phase: "unknown" } }));
    const scope = { tenant: "acme", tool: "calc" };
    await put(store, scope, { a: 1 });
    const before = await contentsOf(store);
    const late: [string, CallRecord][] = [
      ["r2", call],
      ["r3", ended],
      ["r4", unknown],
      ["r1", sampleIntent()],
    ];
    for (const [runId, of] of late) {
      const unit = { ...writing(scope, { version: 0 }, { a: 2 }), open: other, audit: "{}" };
      expect(await refusal(store, by(runId, of, unit))).toEqual({ kind: "fenced" });
    }
    expect(await contentsOf(store)).toEqual(before);
  });

  it("ends where the next one begins: each retry has its own [X-5]", async ({ store }) => {
    const call = await running(store, "r1");
    const rerun = { callId: call.callId, runId: "r2", attempt: 2 };
    await applied(store, by("r1", call, unitOf({ rerun, audit: "{}" })));
    expect(await store.calls.get(call.callId)).toEqual({ ...call, runId: "r2", attempt: 2 });
    expect(await refusal(store, by("r1", call, ending(call)))).toEqual({ kind: "fenced" });
    expect(await refusal(store, by("r1", call, unitOf({ rerun })))).toEqual({ kind: "fenced" });
    await applied(store, by("r2", call, ending(call)));
    expect(await refusal(store, unitOf({ rerun }))).toEqual({ kind: "not_open" });
  });

  it("gets the same answer to the same unit, also when another has taken over since", async ({ store }) => {
    const call = await running(store, "r1");
    const rerun = { callId: call.callId, runId: "r2", attempt: 2 };
    const unit = { ...by("r1", call, unitOf({ rerun, audit: "{}" })), id: newCallId() };
    expect(await applied(store, unit)).toEqual(await applied(store, unit));
  });

  it("has the receipt of what was written while it ran", async ({ store }) => {
    const call = await running(store, "r1");
    const rerun = { callId: call.callId, runId: "r2", attempt: 2 };
    const { link } = await applied(store, by("r1", call, unitOf({ rerun, audit: "{}" })));
    const { callId } = call;
    const close = { callId, phase: "closed", closing: sampleClosing(callId) } as const;
    await applied(store, by("r2", call, unitOf({ close })));
    expect((await store.calls.get(callId))?.closing?.answer.receipt).toMatchObject(link ?? {});
  });

  it("is asked to end by a reason that stays, and only while it executes", async ({ store }) => {
    const call = await running(store, "r1");
    const cancel = { callId: call.callId, reason: ODD_TEXT };
    await applied(store, unitOf({ cancel, audit: "{}" }));
    await applied(store, unitOf({ cancel: { ...cancel, reason: "later" } }));
    expect(await store.calls.get(call.callId)).toEqual({ ...call, cancelReason: ODD_TEXT });
    await applied(store, by("r1", call, ending(call)));
    expect(await refusal(store, unitOf({ cancel }))).toEqual({ kind: "not_open" });
    const queued = sampleIntent();
    await applied(store, queueing(queued));
    for (const callId of [queued.callId, "nobody"]) {
      const unit = unitOf({ cancel: { callId, reason: "no" }, audit: "{}" });
      expect(await refusal(store, unit)).toEqual({ kind: "not_open" });
    }
  });
}

/** Accepted calls go to one live instance each, the urgent ones first. */
export function queuedWorkContract(it: StoreTest): void {
  it("goes to one instance each, urgent calls first, then by time and id [L3-EXE-5]", async ({ store }) => {
    const instance = await joined(store);
    const places = [
      { priority: "low", queuedAt: 1 },
      { priority: "normal", queuedAt: 3 },
      { priority: "high", queuedAt: 9 },
      { priority: "normal", queuedAt: 2 },
      { priority: "normal", queuedAt: 3 },
      { priority: "high", queuedAt: 8 },
    ] as const;
    const calls = places.map(() => sampleIntent({ phase: "queued" }));
    for (const [index, call] of calls.entries()) await applied(store, queueing(call, places[index]));
    const inOrder = [5, 2, 3, 1, 4, 0].map((index) => {
      const call = calls[index] ?? sampleIntent();
      return { ...placeOf(call), ...places[index] };
    });
    expect(await store.work.claim({ kind: "queued", instance, limit: 4 })).toEqual(inOrder.slice(0, 4));
    expect(await claimed(store, "queued", await joined(store))).toEqual(inOrder.slice(4));
    expect(await claimed(store, "queued", instance)).toEqual([]);
    expect(await store.queue.size()).toBe(6);
  });

  it("is taken up at once by the instance that accepts it, where it says so", async ({ store }) => {
    const [mine, other] = [await joined(store), await joined(store)];
    const call = sampleIntent();
    await applied(store, queueing(call, { claimedBy: mine }));
    expect(await claimed(store, "queued", other)).toEqual([]);
    await store.instances.leave(mine);
    expect(await claimed(store, "queued", other)).toEqual([placeOf(call)]);
  });

  it("can be claimed again when its holder is gone or lets go, and not once it has begun", async ({
    store,
  }) => {
    const [first, second] = [await joined(store), await joined(store)];
    const calls = crowd(4, () => sampleIntent());
    for (const call of calls) await applied(store, queueing(call));
    const ids = calls.map(({ callId }) => callId);
    expect(await claimed(store, "queued", first)).toHaveLength(4);
    await store.work.release({ kind: "queued", instance: first, ids: ids.slice(0, 2) });
    await store.work.release({ kind: "queued", instance: second, ids: ids.slice(2) });
    const free = await claimed(store, "queued", second);
    expect(free.map(({ callId }) => callId)).toEqual(ids.slice(0, 2));
    await applied(store, beginning({ ...(calls[3] ?? sampleIntent()), phase: "queued" }));
    await store.instances.leave(first);
    const left = await claimed(store, "queued", second);
    expect(left.map(({ callId }) => callId)).toEqual([ids[2]]);
    expect(await store.queue.size()).toBe(3);
  });

  it("has one winner, however many instances claim at once [X-5]", async ({ store }) => {
    const instances = await Promise.all(crowd(3, () => joined(store)));
    for (const call of crowd(60, () => sampleIntent())) await applied(store, queueing(call));
    const claims = crowd(30, (index) =>
      store.work.claim({ kind: "queued", instance: instances[index % 3] ?? "", limit: 3 }),
    );
    const ids = (await Promise.all(claims)).flat().map(({ callId }) => callId);
    expect(ids).toHaveLength(60);
    expect(new Set(ids).size).toBe(60);
  });

  it("is nothing for an instance without a lease, nor beyond the limit", async ({ fixture, store }) => {
    await applied(store, queueing(sampleIntent()));
    for (const instance of ["nobody", await lapsed(fixture)])
      expect(await claimed(store, "queued", instance)).toEqual([]);
    const instance = await joined(store);
    for (const limit of [0, -1])
      expect(await store.work.claim({ kind: "queued", instance, limit })).toEqual([]);
    expect(await claimed(store, "queued", instance)).toHaveLength(1);
  });
}

/** An approval whose call waits; `unattended` makes its yes work. */
async function asked(store: Store, fields: Partial<ApprovalRecord>, unattended?: boolean) {
  const call = sampleIntent({ phase: "waiting" });
  const record = sampleApproval({ callId: call.callId, expiresAt: FAR, ...fields });
  const write = { record, order: "{}", ...(unattended !== undefined && { unattended }) };
  await applied(store, unitOf({ open: call, approvals: [write] }));
  return record;
}

async function written(store: Store, record: ApprovalRecord): Promise<ApprovalRecord> {
  await applied(store, unitOf({ approvals: [{ record, expect: record.revision - 1 }] }));
  return record;
}

/** What is not queued is claimed in the same way: each piece by one live instance at a time. */
export function workContract(it: StoreTest): void {
  it("approved: a yes to an unattended call, while it is good and unspent [FR-APR-03]", async ({ store }) => {
    const [first, second] = [await joined(store), await joined(store)];
    const given = await written(store, moved(await asked(store, {}, true), "approved"));
    const edited = await written(store, moved(await asked(store, {}, true), "edited"));
    await written(store, moved(await asked(store, {}), "approved"));
    await written(store, moved(await asked(store, { expiresAt: 5 }, true), "approved"));
    await asked(store, {}, true);
    expect(await claimed(store, "approved", first)).toEqual([given, edited]);
    expect(await claimed(store, "approved", second)).toEqual([]);
    const ids = [given.approvalId, edited.approvalId];
    await store.work.release({ kind: "approved", instance: second, ids });
    expect(await claimed(store, "approved", second)).toEqual([]);
    await store.work.release({ kind: "approved", instance: first, ids: [given.approvalId] });
    expect(await claimed(store, "approved", second)).toEqual([given]);
    await store.instances.leave(first);
    expect(await claimed(store, "approved", second)).toEqual([edited]);
    const again = moved(await written(store, moved(given, "reserved")), "approved");
    expect(await claimed(store, "approved", second)).toEqual([]);
    expect(await claimed(store, "approved", second)).toEqual([]);
    await written(store, again);
    expect(await claimed(store, "approved", second)).toEqual([again]);
  });

  it("expired_approval: a question or a yes whose time is over, until somebody has written it", async ({
    store,
  }) => {
    const [first, second] = [await joined(store), await joined(store)];
    const pending = await asked(store, { expiresAt: 5 });
    const given = await written(store, moved(await asked(store, { expiresAt: 6 }), "approved"));
    await written(store, moved(await asked(store, { expiresAt: 6 }), "denied"));
    await written(store, moved(await asked(store, { expiresAt: 6 }), "reserved"));
    await asked(store, {});
    const one = await store.work.claim({ kind: "expired_approval", instance: first, limit: 1 });
    expect(one).toEqual([pending]);
    expect(await claimed(store, "expired_approval", second)).toEqual([given]);
    expect(await claimed(store, "expired_approval", first)).toEqual([]);
    await written(store, moved(pending, "expired"));
    const later = await written(store, moved(given, "approved"));
    expect(await claimed(store, "expired_approval", first)).toEqual([later]);
  });

  it("reservation: one whose holder is gone or whose time has run out [FR-APR-03]", async ({
    fixture,
    store,
  }) => {
    const [instance, holder] = [await joined(store), await joined(store)];
    const reserve = async (owner: string, until: number) => {
      const record = moved(await asked(store, {}), "reserved");
      return written(store, { ...record, standing: { state: "reserved", owner, until } });
    };
    const left = await reserve(await lapsed(fixture), FAR);
    const late = await reserve(holder, 5);
    const held = await reserve(holder, FAR);
    expect(await claimed(store, "reservation", instance)).toEqual([left, late]);
    expect(await claimed(store, "reservation", instance)).toEqual([]);
    await store.instances.leave(holder);
    expect(await claimed(store, "reservation", instance)).toEqual([held]);
  });

  it("orphan: a call whose owner is gone; its claimer owns it, and the former run is fenced [X-5]", async ({
    fixture,
    store,
  }) => {
    const [first, second, gone] = [await joined(store), await joined(store), await lapsed(fixture)];
    const live = await running(store, "r0", { owner: first });
    const left = await running(store, "r1", { owner: gone });
    const old = sampleIntent({ owner: "of an earlier version" });
    await applied(store, opening(old));
    const queued = sampleIntent({ owner: gone });
    await applied(store, queueing(queued));
    const orphans = await claimed(store, "orphan", second);
    expect(orphans.map(({ callId, owner }) => [callId, owner])).toEqual([
      [left.callId, second],
      [old.callId, second],
    ]);
    expect(await store.calls.get(left.callId)).toEqual(orphans[0]);
    const runs = orphans.map(({ runId }) => runId ?? "");
    expect(new Set(["r1", "", ...runs]).size).toBe(4);
    expect(await claimed(store, "orphan", first)).toEqual([]);
    expect(await refusal(store, by("r1", left, ending(left)))).toEqual({ kind: "fenced" });
    await applied(store, by(runs[0] ?? "", left, ending(left)));
    await store.instances.leave(second);
    const [again] = await claimed(store, "orphan", first);
    expect(again).toMatchObject({ callId: old.callId, owner: first });
    expect(again?.runId).not.toBe(runs[1]);
    await applied(store, by("r0", live, ending(live)));
  });

  it("orphan: judged by one of many who look at once [X-5]", async ({ store }) => {
    const instances = await Promise.all(crowd(3, () => joined(store)));
    for (let calls = 0; calls < 20; calls += 1) await running(store, "r", { owner: "gone" });
    const found = await Promise.all(
      crowd(9, (index) => claimed(store, "orphan", instances[index % 3] ?? "")),
    );
    const ids = found.flat().map(({ callId }) => callId);
    expect(new Set(ids).size).toBe(20);
    expect(ids).toHaveLength(20);
  });

  it("cancel: told to whoever executes the call, until the call has ended", async ({ fixture, store }) => {
    const [owner, other] = [await joined(store), await joined(store)];
    const call = await running(store, "r1", { owner });
    const ended = await running(store, "r2", { owner });
    for (const { callId } of [call, ended])
      await applied(store, unitOf({ cancel: { callId, reason: "No." } }));
    await applied(store, ending(ended));
    expect(await claimed(store, "cancel", other)).toEqual([]);
    const order = { kind: "cancel", instance: owner, limit: 9 } as const;
    expect(await store.work.claim({ ...order, holdMs: 1 })).toEqual([{ ...call, cancelReason: "No." }]);
    await fixture.advance?.(2);
    await expect.poll(() => store.work.claim(order), { timeout: 10_000, interval: 2 }).toHaveLength(1);
    expect(await store.work.claim(order)).toEqual([]);
  });

  it("callback: due, with one attempt more, and not due again for a while", async ({ fixture, store }) => {
    const [first, second, except] = [await joined(store), await joined(store), ["https://slow.example/"]];
    const due = [7, 5, 6].map((dueAt) => sampleCallback({ dueAt, problem: "no answer" }));
    const [later, slow] = [
      sampleCallback({ dueAt: 1 }),
      sampleCallback({ dueAt: 2, url: "https://slow.example/x" }),
    ];
    const others = [later, slow, sampleCallback({ state: "given_up" })];
    const callbacks: CallbackWrite[] = [...due, ...others].map((callback) => ({ callback }));
    callbacks.push({ callback: { ...later, attempts: 1, dueAt: FAR }, expect: 0 });
    await applied(store, unitOf({ callbacks }));
    const two = await store.work.claim({ kind: "callback", instance: first, limit: 2, holdMs: 1, except });
    expect(two.map(({ callId, attempts }) => [callId, attempts])).toEqual([
      [due[1]?.callId, 1],
      [due[2]?.callId, 1],
    ]);
    expect(two[0]?.dueAt).toBeGreaterThan(7);
    expect(two[0]).toMatchObject({ problem: "no answer", state: "due" });
    const [last] = await store.work.claim({ kind: "callback", instance: second, limit: 1, except });
    expect(last).toMatchObject({ callId: due[0]?.callId, attempts: 1 });
    expect(await store.callbacks.ofCall(last?.callId ?? "")).toEqual(last);
    const again = () => store.work.claim({ kind: "callback", instance: second, limit: 1, except });
    await fixture.advance?.(2);
    await expect.poll(again, { timeout: 10_000, interval: 2 }).toMatchObject([{ attempts: 2 }]);
    const [stale] = two;
    if (!stale) return expect.unreachable();
    const unit = unitOf({ callbacks: [{ callback: { ...stale, state: "delivered" }, expect: 1 }] });
    expect(await refusal(store, unit)).toEqual({ kind: "callback", callId: stale.callId });
    const hurried = sampleCallback({ dueAt: FAR });
    await applied(store, unitOf({ callbacks: [{ callback: hurried }] }));
    const left = (await claimed(store, "callback", first)).map(({ callId }) => callId);
    expect([left.at(0), left.at(-1), left.includes(later.callId)]).toEqual([
      slow.callId,
      hurried.callId,
      false,
    ]);
  });

  it("held: what an instance executes and has claimed, but for what is named, and changes nothing [X-21]", async ({
    store,
  }) => {
    const [mine, other] = [await joined(store), await joined(store)];
    const byId = (ids: readonly string[]) => ids.toSorted();
    const held = async (kind: keyof HeldWork, { instance = mine, limit = 9, except = [] as string[] } = {}) =>
      (await store.work.held({ kind, instance, limit, except })).map(({ callId }) => callId);
    const runs = await Promise.all(crowd(3, (n) => running(store, `r${n}`, { owner: mine })));
    const ended = await running(store, "ended", { owner: mine });
    await applied(store, ending(ended));
    await running(store, "theirs", { owner: other });
    const calls = crowd(3, () => sampleIntent({ owner: mine }));
    for (const [n, call] of calls.entries())
      await applied(store, queueing(call, n < 2 ? { claimedBy: mine } : {}));
    const given = await written(store, moved(await asked(store, {}, true), "approved"));
    const spent = await written(store, moved(await asked(store, {}, true), "approved"));
    expect(await claimed(store, "approved", mine)).toHaveLength(2);
    await written(store, moved(spent, "consumed"));
    const before = await contentsOf(store);
    const ids = {
      executing: byId(runs.map(({ callId }) => callId)),
      queued: byId(calls.slice(0, 2).map(({ callId }) => callId)),
    };
    for (const [kind, expected] of [
      ["executing", ids.executing],
      ["queued", ids.queued],
      ["approved", [given.callId]],
    ] as const) {
      expect(byId(await held(kind)), kind).toEqual(expected);
      const [first = ""] = await held(kind, { limit: 1 });
      const others = await held(kind, { except: [first, ODD_TEXT] });
      expect(byId([first, ...others]), kind).toEqual(expected);
      expect(await held(kind, { instance: "nobody" }), kind).toEqual([]);
      expect(await held(kind, { limit: 0 }), kind).toEqual([]);
    }
    const [first] = await store.work.held({ kind: "executing", instance: mine, limit: 1, except: [] });
    expect(first).toEqual(await store.calls.get(first?.callId ?? ""));
    expect(await contentsOf(store)).toEqual(before);
  });

  it("is nothing for an instance without a lease, whatever the kind", async ({ fixture, store }) => {
    const { callId } = await running(store, "r", { owner: "gone" });
    await asked(store, { expiresAt: 5 });
    await applied(store, unitOf({ callbacks: [{ callback: sampleCallback({ callId, dueAt: 5 }) }] }));
    const before = await contentsOf(store);
    const gone = await lapsed(fixture);
    const kinds = ["approved", "expired_approval", "reservation", "orphan", "cancel", "callback"] as const;
    for (const kind of kinds) expect(await claimed(store, kind, gone)).toEqual([]);
    expect(await contentsOf(store)).toEqual(before);
  });
}
