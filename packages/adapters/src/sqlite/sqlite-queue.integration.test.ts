import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { CallFilter } from "@sallyport/engine/ports";
import {
  applied,
  contentsOf,
  opening,
  queueing,
  sampleCallback,
  sampleClosing,
  sampleIntent,
  unitOf,
} from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { BatchWriter } from "./apply-batch.ts";
import { encodeUnit } from "./encode-unit.ts";
import { inFolder } from "./fixtures/run-process.ts";
import { DATABASE_FILE, openSqliteStore } from "./index.ts";
import { migrate } from "./migrations.ts";
import { callReads } from "./read-calls.ts";

describe("the order of a call that has left the queue", () => {
  it.each([
    ["short", 10],
    ["longer than a page", 60_000],
  ])("is gone from the file when it was %s", (_, length) =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const marks = Array.from({ length: 20 }, (_, index) => `hunter-${index}-`);
      const calls = marks.map((mark) => ({ mark, call: sampleIntent() }));
      for (const { mark, call } of calls) {
        await applied(store, queueing(call, { order: `${mark}${"x".repeat(length)}${mark}` }));
      }
      for (const { call } of calls.slice(1, 10)) await applied(store, unitOf({ begin: call }));
      for (const { call } of calls.slice(10)) {
        const { callId } = call;
        await applied(store, unitOf({ close: { callId, phase: "closed", closing: sampleClosing(callId) } }));
      }
      await store.close();
      const file = (await readFile(join(folder, DATABASE_FILE))).toString("latin1");
      expect(marks.filter((mark) => file.includes(mark))).toEqual(marks.slice(0, 1));
    }),
  );

  it("is refused beforehand when it could not be kept as it is", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      await expect(store.commit(queueing(sampleIntent(), { order: "\ud800" }))).rejects.toThrow(
        /well-formed/,
      );
      expect(await store.calls.list({ limit: 9 })).toEqual([]);
      await store.close();
    }));
});

describe("a batch with queued calls and callbacks", () => {
  it("fails only the unit that cannot be written", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const units = Array.from({ length: 20 }, (_, index) => ({
        ...queueing(sampleIntent(), index === 7 ? { queuedAt: Number.NaN } : {}),
        callbacks: [{ callback: sampleCallback(index === 9 ? { dueAt: Number.NaN } : {}) }],
      }));
      const results = await Promise.allSettled(units.map((unit) => store.commit(unit)));
      const failed = results.flatMap((result, index) => (result.status === "rejected" ? [index] : []));
      expect(failed).toEqual([7, 9]);
      expect(await store.queue.size()).toBe(18);
      expect(await store.calls.list({ phase: "queued", limit: 99 })).toHaveLength(18);
      const callIds = units.map(({ callbacks }) => callbacks[0]?.callback.callId ?? "");
      expect((await contentsOf(store, undefined, callIds)).callbacks).toHaveLength(18);
      expect(await store.audit.heads("acme")).toMatchObject([{ sequence: 18 }]);
      await store.close();
    }));

  it("sees within one transaction what came before", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const call = sampleIntent();
      const units = [queueing(call), unitOf({ begin: call }), unitOf({ begin: call })];
      const results = await Promise.all(units.map((unit) => store.commit(unit)));
      expect(results.map(({ ok }) => ok)).toEqual([true, true, false]);
      expect(await store.queue.size()).toBe(0);
      await store.close();
    }));
});

describe("calls without a place in the queue and without a callback", () => {
  it("cost no statement on either", () => {
    const database = new DatabaseSync(":memory:");
    migrate(database);
    const asked: string[] = [];
    const writer = new BatchWriter(spied(database, asked));
    const [waiting, running] = [sampleIntent({ phase: "waiting" }), sampleIntent()];
    const { callId } = running;
    const close = { callId, phase: "closed", closing: sampleClosing(callId) } as const;
    const units = [
      opening(waiting),
      opening(running),
      unitOf({ begin: waiting, audit: "{}" }),
      unitOf({ close }),
    ];
    const outcomes = writer.apply(units.map((unit) => encodeUnit(unit, { at: 0, retentionMs: 0 })));
    expect(outcomes.map(([kind]) => kind)).toEqual(["applied", "applied", "applied", "applied"]);
    expect(asked.length).toBeGreaterThan(4);
    const onEither = () => asked.filter((sql) => /(INTO|FROM|UPDATE) (queue|callbacks)\b/.test(sql));
    expect(onEither()).toEqual([]);
    writer.apply([encodeUnit(queueing(sampleIntent()), { at: 0, retentionMs: 0 })]);
    expect(onEither()).toHaveLength(1);
    database.close();
  });
});

describe("lists of calls", () => {
  it("look at no more rows than they have to", () => {
    const database = new DatabaseSync(":memory:");
    migrate(database);
    const planOf = (read: (spy: DatabaseSync) => void) => {
      const asked: string[] = [];
      read(spied(database, asked));
      return asked.map((sql) => plan(database, sql));
    };
    const listed = (filter: Omit<CallFilter, "limit">) =>
      planOf((spy) => callReads(spy).list({ ...filter, limit: 9 }))[0];
    const ofAgent = `SEARCH tool_invocations USING INDEX invocations_by_tenant (tenant_id=?)${SORTS_TIES}`;
    expect(listed({})).toBe(`SCAN tool_invocations USING INDEX invocations_by_time${SORTS_TIES}`);
    expect(listed({ tenant: "acme" })).toBe(ofAgent);
    expect(listed({ tenant: "acme", agent: "a" })).toBe(ofAgent);
    expect(listed({ tenant: "acme", agent: "a", tool: "calc", before: { at: 1, id: "b" } })).toBe(
      `SEARCH tool_invocations USING INDEX invocations_by_tenant (tenant_id=? AND started_at<?)${SORTS_TIES}`,
    );
    expect(listed({ tenant: "acme", agent: "a", phase: "queued" })).toBe(
      `SEARCH tool_invocations USING INDEX invocations_open (phase=?)${SORTS_TIES}`,
    );
    database.close();
  });
});

/** Rows of one moment are sorted by id. */
const SORTS_TIES = "; USE TEMP B-TREE FOR LAST TERM OF ORDER BY";

function plan(database: DatabaseSync, sql: string): string {
  const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return steps.map(({ detail }) => String(detail)).join("; ");
}

/** The same database, noting every statement that is run. */
function spied(database: DatabaseSync, asked: string[]): DatabaseSync {
  return new Proxy(database, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => noted(target.prepare(sql), () => asked.push(sql));
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function noted<Statement extends object>(statement: Statement, note: () => void): Statement {
  return new Proxy(statement, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...cells: unknown[]) => {
        note();
        return Reflect.apply(member, target, cells);
      };
    },
  });
}
