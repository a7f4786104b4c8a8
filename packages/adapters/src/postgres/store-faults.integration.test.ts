import { setTimeout as sleep } from "node:timers/promises";
import type { CommitResult, Store, UnitOfWork } from "@sallyport/engine/ports";
import {
  crowd,
  opening,
  queueing,
  sampleCall,
  sampleIntent,
  sampleRevocation,
  unitOf,
} from "@sallyport/engine/testing";
import { SallyportError } from "@sallyport/protocol";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reasonToSkip, startService } from "../../../../scripts/services.ts";
import { AnswerLosingProxy } from "./fixtures/proxy.ts";
import { TestServer } from "./fixtures/server.ts";
import { openPostgresStore } from "./index.ts";

const reason = reasonToSkip("postgres");

function failureOf(error: unknown) {
  return error instanceof SallyportError ? error.failure : undefined;
}

/** Sends the unit until its fate is known, as the engine does. */
async function settle(store: Store, unit: UnitOfWork): Promise<CommitResult> {
  for (;;) {
    try {
      return await store.commit(unit);
    } catch (error) {
      if (failureOf(error)?.code !== "E3914") throw error;
    }
  }
}

/** Commits in every store until `fault` has passed, and checks that each unit was applied once and is kept. */
async function commitThrough(stores: readonly Store[], fault: () => Promise<void>): Promise<number> {
  let isOver = false;
  const applied: { callId: string; result: CommitResult }[] = [];
  const writers = stores.flatMap((store, strand) =>
    crowd(12, async () => {
      while (!isOver) {
        const call = sampleCall();
        const unit = { ...opening(call), id: `unit ${call.callId}`, strand };
        applied.push({ callId: call.callId, result: await settle(store, unit) });
      }
    }),
  );
  await fault();
  isOver = true;
  await Promise.all(writers);
  const links = applied.map(({ result }) => result.ok && result.link);
  expect(links.filter((link) => !link)).toEqual([]);
  for (const [strand, store] of stores.entries()) {
    const entries = await store.audit.read("acme", { strand, after: 0, limit: 1e6 });
    const told = links.flatMap((link) => (link && link.strand === strand ? link.sequence : []));
    expect(told.toSorted((a, b) => a - b)).toEqual(entries.map(({ sequence }) => sequence));
    expect(told).toHaveLength(entries.length);
  }
  const kept = await stores[0]?.calls.list({ limit: 1e6 });
  expect(kept?.map(({ callId }) => callId).toSorted()).toEqual(
    applied.map(({ callId }) => callId).toSorted(),
  );
  return applied.length;
}

describe.skipIf(reason !== undefined)(`A PostgreSQL store${reason ? ` (${reason})` : ""}`, () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("applies each unit once while connections are cut [D-8] [X-9]", async () => {
    const stores = [await server.open("cut"), await server.open("cut")];
    const units = await commitThrough(stores, async () => {
      for (const _ of crowd(12, () => 0)) {
        await sleep(60);
        await server.cut();
      }
    });
    expect(units).toBeGreaterThan(24);
  });

  it("applies a unit once although its answer was lost, and tells the same again [D-8] [X-9]", async () => {
    await using proxy = await AnswerLosingProxy.start(server.service.port);
    const connectionString = `postgres://sallyport@127.0.0.1:${proxy.port}/postgres`;
    const stores = [await openPostgresStore({ connectionString, schema: "answers" })];
    await commitThrough(stores, async () => {
      for (const _ of crowd(10, () => 0)) {
        await sleep(40);
        await proxy.loseAnswers(40);
      }
    });
    await stores[0]?.close();
  });

  it("hands out what a claim has taken whose answer was lost [X-5]", async () => {
    await using proxy = await AnswerLosingProxy.start(server.service.port);
    const connectionString = `postgres://sallyport@127.0.0.1:${proxy.port}/postgres`;
    const store = await openPostgresStore({ connectionString, schema: "claims", patienceMs: 0 });
    await store.instances.renew({ instance: "one", ttlMs: 60_000 });
    for (const call of crowd(3, () => sampleIntent({ phase: "queued" }))) await store.commit(queueing(call));
    await store.commit(opening(sampleIntent({ owner: "gone" })));
    for (const kind of ["queued", "orphan"] as const) {
      const claim = () => store.work.claim({ kind, instance: "one", limit: 9 });
      const [lost] = await Promise.all([claim().catch(failureOf), proxy.loseAnswers(200)]);
      expect(lost).toMatchObject({ code: "E3914" });
      expect(await claim()).toHaveLength(kind === "queued" ? 3 : 1);
      expect(await claim()).toEqual([]);
    }
    await store.close();
  });

  it("loses nothing it acknowledged when the server is killed and comes back [D-8] [X-9]", async () => {
    const stores = [await server.open("killed", { patienceMs: 500 }), await server.open("killed")];
    await commitThrough(stores, async () => {
      for (const _ of crowd(2, () => 0)) {
        await sleep(200);
        await server.service.kill();
        await server.service.restart();
      }
      await Promise.all(stores.map((store) => settle(store, unitOf({ id: `last ${Math.random()}` }))));
    });
  });

  it("says of a unit without an id that nobody knows what became of it", async () => {
    const store = await server.open("doubt");
    const blocker = await server.client("BEGIN; LOCK TABLE doubt.calls IN ACCESS EXCLUSIVE MODE");
    const commit = store.commit(opening(sampleCall())).catch(failureOf);
    await sleep(100);
    await server.cut();
    expect(await commit).toMatchObject({ code: "E3914", details: { unanswered: true } });
    await blocker.end();
  });

  it("refuses a unit that waits too long for a row, and no other of its batch", async () => {
    const store = await server.open("rows", { lockTimeoutMs: 300 });
    const call = sampleIntent();
    await store.commit(opening(call));
    const blocker = await server.client("BEGIN");
    await blocker.query("SELECT FROM rows.calls WHERE call_id = $1 FOR UPDATE", [call.callId]);
    const close = { callId: call.callId, phase: "unknown" as const };
    const [stuck, other] = await Promise.all([
      store.commit(unitOf({ id: "stuck", close })).catch(failureOf),
      store.commit(opening(sampleCall())),
    ]);
    expect(stuck).toMatchObject({ code: "E3914", advice: expect.stringContaining("lockTimeoutMs") });
    expect(stuck).not.toHaveProperty("details.unanswered");
    expect(other).toMatchObject({ ok: true });
    await blocker.end();
    expect(await store.commit(unitOf({ id: "stuck", close }))).toMatchObject({ ok: true });
  });

  it("holds up nobody else for long when many units wait for one row", async () => {
    const store = await server.open("hot", { lockTimeoutMs: 1_000 });
    await store.commit(unitOf({ tenant: "stuck", audit: "{}" }));
    const blocker = await server.client("BEGIN");
    await blocker.query("SELECT FROM hot.audit_heads WHERE tenant_id = 'stuck' FOR UPDATE");
    const began = performance.now();
    const stuck = crowd(30, () => store.commit(unitOf({ tenant: "stuck", audit: "{}" })).catch(failureOf));
    await sleep(50);
    expect(await store.commit(unitOf({ tenant: "free", audit: "{}" }))).toMatchObject({ ok: true });
    // One after the other, each of them would have waited for a second.
    expect(performance.now() - began).toBeLessThan(20_000);
    for (const failure of await Promise.all(stuck)) expect(failure).toMatchObject({ code: "E3914" });
    await blocker.end();
  });

  it("gives up on all units of a batch at once when the server goes away while they are sent one by one", async () => {
    await using proxy = await AnswerLosingProxy.start(server.service.port);
    const connectionString = `postgres://sallyport@127.0.0.1:${proxy.port}/postgres`;
    const store = await openPostgresStore({
      connectionString,
      schema: "split",
      patienceMs: 500,
      lockTimeoutMs: 300,
    });
    const blocker = await server.client("BEGIN; LOCK TABLE split.audit_heads IN ACCESS EXCLUSIVE MODE");
    const began = performance.now();
    const commits = crowd(30, (n) => store.commit(unitOf({ id: `u${n}`, audit: "{}" })).catch(failureOf));
    await sleep(600);
    await proxy[Symbol.asyncDispose]();
    for (const failure of await Promise.all(commits)) expect(failure).toMatchObject({ code: "E3914" });
    expect(performance.now() - began).toBeLessThan(10_000);
    await blocker.end();
    await store.close();
  });

  it("renews leases while slow reads have every other connection", async () => {
    const store = await server.open("busy", { poolSize: 4, lockTimeoutMs: 60_000, connectTimeoutMs: 500 });
    const about = { instance: "one", ttlMs: 60_000 };
    const { slot } = await store.instances.renew(about);
    const blocker = await server.client("BEGIN; LOCK TABLE busy.calls IN ACCESS EXCLUSIVE MODE");
    let answered = 0;
    const reads = crowd(3, () =>
      store.calls.list({ limit: 1 }).then(() => {
        answered += 1;
      }),
    );
    await expect(store.calls.list({ limit: 1 })).rejects.toMatchObject({ failure: { code: "E3914" } });
    expect(await store.instances.renew(about)).toMatchObject({ slot });
    expect(await store.outbox.renew({ sink: "s", instance: "one" })).toBe(false);
    expect(answered).toBe(0);
    await blocker.end();
    await Promise.all(reads);
    await expect(server.open("busy", { poolSize: 3 })).rejects.toThrow(/poolSize is 3.*4 connections/);
  });

  it("renews leases in time when their connection is lost without a word", async () => {
    await using proxy = await AnswerLosingProxy.start(server.service.port);
    const connectionString = `postgres://sallyport@127.0.0.1:${proxy.port}/postgres`;
    const store = await server.open("silent", { connectionString });
    const lease = { instance: "one", ttlMs: 15_000 };
    const { slot } = await store.instances.renew(lease);
    proxy.silence();
    // A process asks every five seconds, and has five more before it ends what it runs.
    const late = sleep(5_000, "late", { ref: false });
    expect(await Promise.race([store.instances.renew(lease), late])).toMatchObject({ slot });
  });

  it("rejects with E3914 when a connection is lost while the store is opened, and ends no process", async () => {
    const blocker = await server.client(
      "SELECT pg_advisory_lock(hashtext('sallyport-migrate'), hashtext('opening'))",
    );
    await using proxy = await AnswerLosingProxy.start(server.service.port);
    const connectionString = `postgres://sallyport@127.0.0.1:${proxy.port}/postgres`;
    const opening = openPostgresStore({ connectionString, schema: "opening", patienceMs: 0 }).catch(
      failureOf,
    );
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event = 'advisory'";
    await expect.poll(() => server.query(waiting), { timeout: 20_000 }).toHaveLength(1);
    // Without a word: the driver tells it by an event.
    await proxy.loseAnswers(0);
    expect(await opening).toMatchObject({ code: "E3914" });
    await blocker.end();
  });

  it("waits for an outage once: a unit that waits behind others has no time of its own after theirs", async () => {
    const patienceMs = 6_000;
    await using proxy = await AnswerLosingProxy.start(server.service.port);
    const connectionString = `postgres://sallyport@127.0.0.1:${proxy.port}/postgres`;
    const store = await openPostgresStore({ connectionString, schema: "behind", patienceMs });
    await proxy[Symbol.asyncDispose]();
    const rejected = (id: string) => store.commit(unitOf({ id })).then(String, () => performance.now());
    const first = rejected("first");
    await sleep(500);
    const ends = (await Promise.all([first, rejected("behind")])).map(Number);
    // In turn it would end a whole patience after the first; it came half a second later.
    expect(Number(ends[1]) - Number(ends[0])).toBeGreaterThan(0);
    expect(Number(ends[1]) - Number(ends[0])).toBeLessThan(patienceMs);
    await store.close();
  });

  it("does not use a server that takes no writes, and goes on once it takes them [D-8]", async () => {
    const store = await server.open("standby", { patienceMs: 200 });
    const readOnly = async (isOn: boolean) => {
      await server.query(`ALTER SYSTEM SET default_transaction_read_only = ${isOn ? "on" : "off"}`);
      await server.query("SELECT pg_reload_conf()");
      await sleep(300);
    };
    await readOnly(true);
    const unit = { ...opening(sampleCall()), id: "u" };
    const failure = await store.commit(unit).catch(failureOf);
    await readOnly(false);
    expect(failure).toMatchObject({ code: "E3914", advice: expect.stringContaining("primary") });
    expect(failure).not.toHaveProperty("details.unanswered");
    expect(await settle(store, unit)).toMatchObject({ ok: true });
  });

  it("lets units of two processes meet on the same rows in any order [X-5]", async () => {
    const stores = [await server.open("meet"), await server.open("meet")];
    for (const round of crowd(8, (index) => index)) {
      const keys = crowd(20, (index) => `key ${round} ${index}`);
      const open = (store: Store | undefined, order: readonly string[]) =>
        order.map((idempotencyKey) => store?.commit(opening(sampleCall({ idempotencyKey }))));
      const results = await Promise.all([...open(stores[0], keys), ...open(stores[1], keys.toReversed())]);
      expect(results.filter((result) => result?.ok)).toHaveLength(20);
      expect(results.filter((result) => !result?.ok && result?.conflict.kind === "idempotency")).toHaveLength(
        20,
      );
    }
  });

  it("tells what a promoted standby has written since, also below the transactions that were lost with the primary", async () => {
    await using primary = await TestServer.start();
    await primary.query("CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE postgres TO plain");
    const open = (port: number) =>
      openPostgresStore({ connectionString: `postgres://plain@127.0.0.1:${port}/postgres` });
    const revoke = (store: Store, jti: string) =>
      store.commit(
        unitOf({ revocations: [{ ...sampleRevocation({ jti }), forgetAt: Date.now() + 3_600_000 }] }),
      );
    const before = await open(primary.service.port);
    await revoke(before, "received");
    await before.close();
    await primary.service.kill();
    // From here on it receives nothing more.
    await using standby = await startService("postgres", { standbyOf: primary.service.data });
    await primary.service.restart();
    const lost = await open(primary.service.port);
    for (const n of crowd(20, (index) => index)) await revoke(lost, `lost ${n}`);
    const { changed, cursor } = await lost.revocations.changedSince();
    expect(changed).toHaveLength(21);
    expect((await lost.revocations.changedSince(cursor)).changed.length).toBeLessThan(21);
    await lost.close();
    await primary.service.kill();
    const person = new pg.Client({
      connectionString: `postgres://sallyport@127.0.0.1:${standby.port}/postgres`,
    });
    await person.connect();
    await person.query("SELECT pg_promote()");
    await person.end();
    const promoted = await open(standby.port);
    await revoke(promoted, "since");
    const found = await promoted.revocations.changedSince(cursor);
    expect(found.changed.map(({ jti }) => jti)).toEqual(["received", "since"]);
    await promoted.close();
  });

  it("says why it cannot be opened, never with the password", async () => {
    await server.query("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0");
    const tries = [
      { connectionString: server.url("sallyport", "nowhere") },
      { connectionString: server.url("crowded") },
      // Patient with a server that is there: a wrong port is told at once.
      { connectionString: "postgres://sallyport:pa55word@127.0.0.1:1/postgres", patienceMs: 600_000 },
      { connectionString: server.url(), schema: 'x"; DROP SCHEMA public' },
    ];
    const failures = await Promise.all(
      tries.map((options) => openPostgresStore({ patienceMs: 100, ...options }).catch(failureOf)),
    );
    for (const failure of failures) expect(failure).toMatchObject({ code: "E3914" });
    expect(JSON.stringify(failures)).not.toContain("pa55word");
    expect(failures[0]).toMatchObject({ advice: expect.stringContaining("database") });
    expect(failures[1]).toMatchObject({ advice: expect.stringContaining("poolSize") });
    expect(failures[2]).toMatchObject({
      message: expect.stringMatching(/^PostgreSQL cannot be reached: ECONNREFUSED.*127\.0\.0\.1:1/),
      advice: expect.stringContaining("Nothing listens there"),
    });
  });
});
