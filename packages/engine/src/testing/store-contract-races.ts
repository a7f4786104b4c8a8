import { expect } from "vitest";
import type { Store, UnitOfWork } from "../ports/store.ts";
import {
  applied,
  approvedCall,
  beginning,
  chainOf,
  consuming,
  contentsOf,
  crowd,
  ending,
  failedClosing,
  linksOf,
  moved,
  opening,
  pendingOf,
  queueing,
  type StoreTest,
  sampleCall,
  sampleCallback,
  sampleIntent,
  sampleStandingGrant,
  unitOf,
  writing,
} from "./store-samples.ts";

const CROWD = 40;
const SCOPE = { tenant: "acme", tool: "counter" };

/** Many units, each with one event, of which one may be applied. */
interface Race {
  units: UnitOfWork[];
  /** What the others are told; asked once the race is over. */
  conflict(winner: number): Promise<object> | object;
  /** Checks what the winner left. */
  check(winner: number): Promise<void>;
}

const RACES: Record<string, (store: Store) => Promise<Race>> = {
  async "opens a call with the idempotency key that all of them have"(store) {
    const calls = crowd(CROWD, () => sampleCall({ idempotencyKey: "on\u0000ce" }));
    const winner = () =>
      store.calls.byIdempotencyKey({ tenant: "acme", agent: "agent-1", key: "on\u0000ce" });
    return {
      units: calls.map(opening),
      conflict: async () => ({ kind: "idempotency", existing: await winner() }),
      check: async (index) => expect((await winner())?.callId).toBe(calls[index]?.callId),
    };
  },
  async "queues a call with the idempotency key that all of them have"(store) {
    const calls = crowd(CROWD, () => sampleIntent({ phase: "queued", idempotencyKey: "once" }));
    return {
      units: calls.map((call) => queueing(call)),
      conflict: (index) => ({ kind: "idempotency", existing: calls[index] }),
      check: async (index) =>
        expect((await contentsOf(store)).queue.map(({ callId }) => callId)).toEqual([calls[index]?.callId]),
    };
  },
  "begins a waiting call": (store) => beginningRace(store, "waiting"),
  "begins a queued call": (store) => beginningRace(store, "queued"),
  async "begins a call and consumes its approval [FR-APR-03]"(store) {
    const both = await approvedCall(store);
    return {
      units: crowd(CROWD, (index) => consuming(both, `racer-${index}`)),
      conflict: () => ({ kind: "not_waiting" }),
      check: async (index) => {
        const { call, approved } = both;
        expect(await store.calls.get(call.callId)).toMatchObject({ owner: `racer-${index}` });
        expect(await store.approvals.get(approved.approvalId)).toEqual(moved(approved, "consumed"));
        const events = await store.audit.read("acme", { strand: 0, after: 2, limit: 99 });
        expect(events.map(({ body }) => body)).toEqual([`{"by":"racer-${index}"}`]);
        expect(await pendingOf(store)).toHaveLength(1);
      },
    };
  },
  async "reserves an approval"(store) {
    const { approved } = await approvedCall(store);
    const { approvalId } = approved;
    const reserved = crowd(CROWD, (index) => ({
      ...moved(approved, "reserved"),
      standing: { state: "reserved" as const, owner: `racer-${index}`, until: 9 },
    }));
    return {
      units: reserved.map((record) => unitOf({ approvals: [{ record, expect: 2 }], audit: "{}" })),
      conflict: () => ({ kind: "approval", approvalId }),
      check: async (index) => expect(await store.approvals.get(approvalId)).toEqual(reserved[index]),
    };
  },
  async "closes a call"(store) {
    const call = sampleIntent();
    await applied(store, opening(call));
    return {
      units: crowd(CROWD, () => ending(call)),
      conflict: () => ({ kind: "not_open" }),
      check: async () => expect((await store.calls.get(call.callId))?.phase).toBe("closed"),
    };
  },
  async "takes a callback for delivery"(store) {
    const callback = sampleCallback();
    await applied(store, unitOf({ callbacks: [{ callback }] }));
    return callbackRace(store, (index) => ({
      callback: { ...callback, attempts: 1, dueAt: callback.dueAt + index },
      expect: 0,
    }));
  },
  "writes a new callback": async (store) =>
    callbackRace(store, (index) => ({
      callback: sampleCallback({ callId: "same", url: `https://example.com/${index}` }),
    })),
};

async function beginningRace(store: Store, phase: "waiting" | "queued"): Promise<Race> {
  const call = sampleIntent({ phase });
  await applied(store, phase === "queued" ? queueing(call) : opening(call));
  return {
    units: crowd(CROWD, (index) => beginning({ ...call, owner: `racer-${index}` })),
    conflict: () => ({ kind: "not_waiting" }),
    check: async (index) => {
      const owner = `racer-${index}`;
      expect(await store.calls.get(call.callId)).toMatchObject({ phase: "executing", owner });
      await applied(store, ending(call));
      expect(await store.calls.get(call.callId)).toMatchObject({ phase: "closed", owner });
    },
  };
}

function callbackRace(
  store: Store,
  write: (index: number) => NonNullable<UnitOfWork["callbacks"]>[number],
): Race {
  const writes = crowd(CROWD, write);
  const callId = writes[0]?.callback.callId ?? "";
  return {
    units: writes.map((one) => unitOf({ callbacks: [one], audit: "{}" })),
    conflict: () => ({ kind: "callback", callId }),
    check: async (index) => expect(await store.callbacks.ofCall(callId)).toEqual(writes[index]?.callback),
  };
}

/** What holds when many commit at once. */
export function raceContract(it: StoreTest): void {
  it.for(Object.entries(RACES))("one %s, and the others leave nothing", async ([, prepare], { store }) => {
    const { units, conflict, check } = await prepare(store);
    const before = (await store.audit.heads("acme"))[0]?.sequence ?? 0;
    const results = await Promise.all(units.map((unit) => store.commit(unit)));
    const winner = results.findIndex(({ ok }) => ok);
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
    const told = { ok: false, conflict: await conflict(winner) };
    expect(results.toSpliced(winner, 1)).toEqual(crowd(units.length - 1, () => told));
    expect(await store.audit.heads("acme")).toMatchObject([{ sequence: before + 1 }]);
    await check(winner);
  });

  it("each has a link of its own, and every strand is one contiguous chain [R1-8.1]", async ({ store }) => {
    const units = crowd(CROWD, (index) =>
      unitOf({ open: sampleCall(), strand: index % 3, audit: `{"n":${index}}` }),
    );
    const done = await Promise.all(units.map((unit) => applied(store, unit)));
    const links = done.flatMap(({ link }) => link ?? []);
    for (const strand of [0, 1, 2]) {
      const entries = await store.audit.read("acme", { strand, after: 0, limit: 1000 });
      const bodies = entries.map(({ body }) => body);
      expect(entries).toEqual(chainOf(bodies, strand));
      const told = links.filter((link) => link.strand === strand);
      expect(told.sort((one, other) => one.sequence - other.sequence)).toEqual(linksOf(entries));
    }
    expect(links).toHaveLength(CROWD);
  });

  it("none loses an update of a shared counter [R1-4.3]", async ({ store }) => {
    const increment = async (): Promise<void> => {
      const snapshot = await store.state.open(SCOPE);
      const entry = await store.state.get(snapshot, "n");
      const result = await store.commit(writing(SCOPE, snapshot, { n: Number(entry?.value ?? 0) + 1 }));
      if (!result.ok) await increment();
    };
    await Promise.all(Array.from({ length: 20 }, increment));
    expect((await store.state.get(await store.state.open(SCOPE), "n"))?.value).toBe(20);
  });

  it("those that conflict do not disturb the others", async ({ store }) => {
    const known = sampleCall();
    await applied(store, opening(known));
    const units = crowd(CROWD, (index) => opening(index % 2 === 0 ? sampleCall() : known));
    const results = await Promise.all(units.map((unit) => store.commit(unit)));
    expect(results.map(({ ok }) => ok)).toEqual(crowd(CROWD, (index) => index % 2 === 0));
    expect(results[1]).toEqual({ ok: false, conflict: { kind: "duplicate_call" } });
    expect(await store.audit.heads("acme")).toMatchObject([{ sequence: 1 + CROWD / 2 }]);
  });

  it("those that begin and those that withdraw a call end it one way", async ({ store }) => {
    const both = await approvedCall(store);
    const { callId } = both.call;
    const withdrawal = unitOf({
      close: { callId, phase: "closed", closing: failedClosing(callId, "error") },
      approvals: [{ record: moved(both.approved, "withdrawn"), expect: 2, order: null }],
      audit: '{"by":"nobody"}',
    });
    const units = crowd(CROWD, (index) => (index % 2 === 0 ? withdrawal : consuming(both, "run-2")));
    const results = await Promise.all(units.map((unit) => store.commit(unit)));
    const winners = results.flatMap(({ ok }, index) => (ok ? [index % 2] : []));
    expect(winners).toHaveLength(1);
    const phase = (await store.calls.get(callId))?.phase;
    const state = (await store.approvals.get(both.approved.approvalId))?.standing.state;
    expect([phase, state]).toEqual(winners[0] === 0 ? ["closed", "withdrawn"] : ["executing", "consumed"]);
    expect(await store.audit.heads("acme")).toMatchObject([{ sequence: 3 }]);
  });

  it.for([undefined, "queued"] as const)(
    "either begins or cancels each of many queued calls, when cancelling from %s",
    async (from, { store }) => {
      const calls = crowd(CROWD, () => sampleIntent({ phase: "queued" }));
      for (const call of calls) await applied(store, queueing(call));
      const races = calls.map(async (call, index) => {
        const begin = () => store.commit(beginning({ ...call, owner: "racer" }));
        const end = () => store.commit(ending(call, from));
        if (index % 2 === 0) {
          const [begun, ended] = await Promise.all([begin(), end()]);
          return { call, begun, ended };
        }
        const [ended, begun] = await Promise.all([end(), begin()]);
        return { call, begun, ended };
      });
      for (const { call, begun, ended } of await Promise.all(races)) {
        // A call that may be cancelled only while it is queued begins or is cancelled, never both.
        expect(ended.ok).toBe(from === undefined || !begun.ok);
        if (!begun.ok) expect(begun.conflict).toEqual({ kind: "not_waiting" });
        const phase = ended.ok ? "closed" : "executing";
        const owner = begun.ok ? "racer" : call.owner;
        expect(await store.calls.get(call.callId)).toMatchObject({ phase, owner });
      }
      expect(await store.queue.size()).toBe(0);
    },
  );

  it("all count their use of a grant, although it is changed meanwhile", async ({ store }) => {
    const grant = sampleStandingGrant();
    await applied(store, unitOf({ grants: [{ record: grant }] }));
    const change = { ...grant, revokedAt: 9, revision: 2 };
    const units = crowd(CROWD, (index) =>
      unitOf({
        grantUses: [{ grantId: grant.grantId, at: CROWD - index }],
        ...(index === 5 && { grants: [{ record: change, expect: 1 }] }),
      }),
    );
    await Promise.all(units.map((unit) => applied(store, unit)));
    expect(await store.grants.get(grant.grantId)).toEqual({ ...change, uses: CROWD, lastUsedAt: CROWD });
  });
}
