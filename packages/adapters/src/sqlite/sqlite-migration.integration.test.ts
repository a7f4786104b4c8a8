import { verifyChain } from "@sallyport/engine";
import { auditBody } from "@sallyport/engine/chain";
import {
  applied,
  chainOf,
  contentsOf,
  linksOf,
  moved,
  opening,
  queueing,
  sampleApproval,
  sampleCall,
  sampleCallback,
  sampleIntent,
  unitOf,
} from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import {
  approval,
  closed,
  events,
  grant,
  openDatabase,
  revocation,
  running,
  tool,
  waiting,
  writeFirstVersion,
  writeSecondVersion,
} from "./fixtures/old-versions.ts";
import { inFolder } from "./fixtures/run-process.ts";
import { openSqliteStore } from "./index.ts";

describe("a folder written by the first version", () => {
  it("is brought up to date with everything in it", () =>
    inFolder(async (folder) => {
      await writeFirstVersion(folder);
      const store = await openSqliteStore({ folder });
      const calls = await store.calls.list({ limit: 9 });
      expect(calls[0]).toEqual(running);
      expect(calls[1]).toMatchObject({
        ...closed,
        closing: { status: "success", answer: { result: { sum: 2 } } },
      });
      expect(calls[1]?.closing?.answer.receipt).toMatchObject({ sequence: 2, hash: events[1]?.hash });
      expect(await store.calls.list({ phase: "executing", limit: 9 })).toEqual([running]);
      expect((await store.tools.changedSince()).changed).toEqual([tool]);
      const snapshot = await store.state.open({ tenant: "acme", tool: "calc" });
      expect(await store.state.get(snapshot, "n")).toEqual({ value: 41, version: 3 });
      expect(await store.audit.read("acme", { strand: 0, after: 0, limit: 9 })).toEqual(events);
      // Messages named calls; they are the events themselves now, for the one sink there was.
      const batches = await store.outbox.pending({ sink: "file", instance: "i", limit: 9 });
      expect(batches.flatMap((batch) => batch.events).map((json) => JSON.parse(json))).toMatchObject([
        { id: closed.callId, type: "ai.agent.tool.invoked", data: { parameters: { a: 1 } } },
        {
          id: `${closed.callId}:tool.succeeded`,
          time: new Date(closed.closing?.closedAt ?? 0).toISOString(),
        },
      ]);
      expect(batches.map(({ tenant }) => tenant)).toEqual(["acme", "acme"]);
      expect(await store.approvals.list({ limit: 9 })).toEqual([]);
      expect((await store.grants.changedSince()).changed).toEqual([]);
      expect((await store.revocations.changedSince()).changed).toEqual([]);
      expect(await store.queue.size()).toBe(0);
      expect((await contentsOf(store)).callbacks).toEqual([]);
      await store.close();
    }));

  it("goes on as if it had always been of this version", () =>
    inFolder(async (folder) => {
      await writeFirstVersion(folder);
      const store = await openSqliteStore({ folder });
      const call = sampleIntent({ phase: "waiting" });
      const record = sampleApproval({ callId: call.callId });
      const { link } = await applied(store, { ...opening(call), approvals: [{ record, order: "{}" }] });
      expect(link?.sequence).toBe(3);
      const consumed = moved(record, "consumed");
      await applied(
        store,
        unitOf({ begin: call, approvals: [{ record: consumed, expect: 1, order: null }] }),
      );
      const quarantine = { at: 5, reason: "It reached outside.", by: "sallyport" };
      await applied(store, unitOf({ tools: [{ record: { ...tool, quarantine, revision: 2 }, expect: 1 }] }));
      await store.close();
      const again = await openSqliteStore({ folder });
      expect(await again.approvals.ofCall(call.callId)).toEqual(consumed);
      expect(await again.calls.get(call.callId)).toEqual({ ...call, phase: "executing" });
      expect((await again.tools.changedSince()).changed).toEqual([{ ...tool, quarantine, revision: 2 }]);
      expect((await again.commit(opening(sampleCall({ idempotencyKey: "kept" })))).ok).toBe(false);
      await again.close();
    }));

  it("is refused for reading until it has been opened for writing once", () =>
    inFolder(async (folder) => {
      await writeFirstVersion(folder);
      const old = { failure: { code: "E3914", message: expect.stringMatching(/version 1\b.*version 6/) } };
      await expect(openSqliteStore({ folder, readOnly: true })).rejects.toMatchObject(old);
      await (await openSqliteStore({ folder })).close();
      const store = await openSqliteStore({ folder, readOnly: true });
      expect(await store.calls.get(running.callId)).toEqual(running);
      await store.close();
    }));
});

describe("the audit chain of an older folder", () => {
  it("is verified as it was written, and goes on in units in the same chain [R1-8.1] [L3-AUD-1]", () =>
    inFolder(async (folder) => {
      await writeFirstVersion(folder);
      const store = await openSqliteStore({ folder });
      const receipt = events[0] && { strand: 0, sequence: 1, hash: events[0].hash };
      expect(await verifyChain(store.audit, "acme", receipt)).toMatchObject({ events: 2, findings: [] });
      const unit = auditBody("acme", ['{"n":3}', '{"n":4}']);
      const { link } = await applied(store, unitOf({ audit: unit }));
      expect(link).toEqual(linksOf(chainOf([...events.map(({ body }) => body), unit])).at(-1));
      await applied(store, unitOf({ strand: 1, audit: unit }));
      const report = await verifyChain(store.audit, "acme", receipt);
      expect(report).toMatchObject({ events: 6, strands: [{ sequence: 3 }, { sequence: 1 }], findings: [] });
      const database = openDatabase(folder);
      database.exec(`UPDATE audit SET lines = replace(lines, '{"n":2,', '{"n":9,')`);
      database.close();
      const { findings } = await verifyChain(store.audit, "acme");
      expect(findings).toMatchObject([{ strand: 0, sequence: 2, problem: "changed" }]);
      await store.close();
    }));
});

describe("a folder written by the second version", () => {
  it("is brought up to date with everything in it", () =>
    inFolder(async (folder) => {
      await writeSecondVersion(folder);
      const store = await openSqliteStore({ folder });
      expect(await store.approvals.list({ limit: 9 })).toEqual([approval]);
      const before = { at: approval.createdAt, id: `${approval.approvalId}~` };
      expect(await store.approvals.list({ before, limit: 9 })).toEqual([approval]);
      expect(await store.approvals.order(approval.approvalId)).toBe("hunter2");
      expect((await store.grants.changedSince()).changed).toEqual([{ ...grant, uses: 4, lastUsedAt: 7 }]);
      expect((await store.revocations.changedSince()).changed).toEqual([revocation]);
      expect((await store.tools.changedSince()).changed).toEqual([tool]);
      const { tenant, agent } = waiting;
      const calls = await store.calls.list({ tenant, agent, limit: 9 });
      expect(calls.map(({ callId, phase }) => [callId, phase])).toEqual([
        [waiting.callId, "waiting"],
        [closed.callId, "closed"],
      ]);
      expect(await store.queue.size()).toBe(0);
      expect((await contentsOf(store)).callbacks).toEqual([]);
      await store.close();
    }));

  it("goes on as if it had always been of this version", () =>
    inFolder(async (folder) => {
      await writeSecondVersion(folder);
      const store = await openSqliteStore({ folder });
      const call = sampleIntent({ phase: "queued", callbackUrl: "https://example.com/done" });
      const callback = sampleCallback({ callId: waiting.callId });
      await applied(store, queueing(call));
      await applied(store, unitOf({ begin: waiting, callbacks: [{ callback }] }));
      expect(await store.queue.size()).toBe(1);
      await store.close();
      const again = await openSqliteStore({ folder });
      expect(await again.calls.get(call.callId)).toEqual(call);
      expect(await again.queue.order(call.callId)).toBe(`order of ${call.callId}`);
      expect(await again.callbacks.ofCall(waiting.callId)).toEqual(callback);
      await applied(again, unitOf({ begin: call }));
      expect(await again.queue.size()).toBe(0);
      await again.close();
    }));

  it("hands out what it held as work", () =>
    inFolder(async (folder) => {
      await writeSecondVersion(folder);
      const given = { ...moved(approval, "approved"), expiresAt: 9_000_000_000_000 };
      const late = sampleApproval({ expiresAt: 5 });
      const database = openDatabase(folder);
      const update = "UPDATE approvals SET state = 'approved', revision = 2, record = ?, call_order = ?";
      database.prepare(update).run(JSON.stringify(given), '{"unattended":true}');
      database
        .prepare("INSERT INTO approvals VALUES (2, ?, ?, ?, 'pending', 1, ?, 'hunter2')")
        .run(late.approvalId, late.callId, late.tenant, JSON.stringify(late));
      database.close();
      const store = await openSqliteStore({ folder });
      const order = { instance: "new", limit: 9 };
      await store.instances.renew({ instance: "new", ttlMs: Infinity });
      expect(await store.work.claim({ kind: "approved", ...order })).toEqual([given]);
      expect(await store.work.claim({ kind: "expired_approval", ...order })).toEqual([late]);
      expect(await store.work.claim({ kind: "orphan", ...order })).toMatchObject([
        { ...running, owner: "new" },
      ]);
      await store.close();
    }));

  it("stays whole when it cannot be brought up to date, and is when what was in the way is gone", () =>
    inFolder(async (folder) => {
      await writeSecondVersion(folder);
      const database = openDatabase(folder);
      database.exec("CREATE TABLE callbacks (mine)");
      const inTheWay = {
        failure: { code: "E3914", message: expect.stringMatching(/callbacks already exists/) },
      };
      await expect(openSqliteStore({ folder })).rejects.toMatchObject(inTheWay);
      expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 2 });
      expect(database.prepare("SELECT name FROM sqlite_schema WHERE name = 'queue'").all()).toEqual([]);
      database.exec("DROP TABLE callbacks");
      database.close();
      const store = await openSqliteStore({ folder });
      expect(await store.calls.get(waiting.callId)).toEqual(waiting);
      await applied(store, queueing(sampleIntent()));
      await store.close();
    }));

  it("is refused for reading until it has been opened for writing once", () =>
    inFolder(async (folder) => {
      await writeSecondVersion(folder);
      const old = { failure: { code: "E3914", message: expect.stringMatching(/version 2\b.*version 6/) } };
      await expect(openSqliteStore({ folder, readOnly: true })).rejects.toMatchObject(old);
      const writer = await openSqliteStore({ folder });
      const call = sampleIntent({ phase: "queued" });
      await applied(writer, queueing(call));
      await writer.close();
      const store = await openSqliteStore({ folder, readOnly: true });
      expect(await store.queue.order(call.callId)).toBe(`order of ${call.callId}`);
      expect(await store.callbacks.ofCall(call.callId)).toBeUndefined();
      await store.close();
    }));
});
