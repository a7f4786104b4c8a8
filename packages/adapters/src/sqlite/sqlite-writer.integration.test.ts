import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { applied, opening, sampleCall, unitOf } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { BatchWriter } from "./apply-batch.ts";
import { encodeUnit } from "./encode-unit.ts";
import { inFolder } from "./fixtures/run-process.ts";
import { DATABASE_FILE, openSqliteStore } from "./index.ts";
import { SqliteStore } from "./sqlite-store.ts";
import { Writer } from "./writer.ts";

const PAGE_BYTES = 16_384;

/** Counts the transactions in a write-ahead log: the last frame of each carries the database's size. */
async function transactionsIn(folder: string): Promise<number> {
  const log = await readFile(join(folder, `${DATABASE_FILE}-wal`));
  let found = 0;
  for (let frame = 32; frame + 24 <= log.length; frame += 24 + PAGE_BYTES) {
    if (log.readUInt32BE(frame + 4) !== 0) found += 1;
  }
  return found;
}

describe("group commit", () => {
  it("writes units that come together in few transactions", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const before = await transactionsIn(folder);
      await Promise.all(Array.from({ length: 200 }, () => applied(store, opening(sampleCall()))));
      expect((await transactionsIn(folder)) - before).toBeLessThanOrEqual(10);
      await store.close();
    }));

  it("leaves the event loop free while a write has to wait", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const blocker = new DatabaseSync(join(folder, DATABASE_FILE));
      blocker.exec("BEGIN IMMEDIATE");
      let isDone = false;
      const call = sampleCall();
      const commit = applied(store, opening(call)).then(() => {
        isDone = true;
      });
      for (let turn = 0; turn < 5; turn += 1) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        expect(await store.calls.get(call.callId)).toBeUndefined();
      }
      expect(isDone).toBe(false);
      blocker.exec("ROLLBACK");
      await commit;
      expect(await store.calls.get(call.callId)).toBeDefined();
      blocker.close();
      await store.close();
    }));

  it("fails only the unit that cannot be written, not the others of its transaction", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const units = Array.from({ length: 20 }, (_, index) =>
        opening(sampleCall(index === 7 ? { startedAt: Number.NaN } : {})),
      );
      const results = await Promise.allSettled(units.map((unit) => store.commit(unit)));
      const failed = results.flatMap((result, index) => (result.status === "rejected" ? [index] : []));
      expect(failed).toEqual([7]);
      expect(await store.audit.heads("acme")).toMatchObject([{ sequence: 19 }]);
      expect((await applied(store, unitOf({ audit: "{}" }))).link?.sequence).toBe(20);
      await store.close();
    }));

  it("refuses more than may wait, and goes on afterwards", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder, durability: "process" });
      const results = await Promise.allSettled(
        Array.from({ length: 20_000 }, () => store.commit(unitOf({ audit: "{}" }))),
      );
      const refused = results.filter(({ status }) => status === "rejected");
      expect(refused).toHaveLength(20_000 - 16_384);
      expect(refused[0]).toMatchObject({ reason: { failure: { code: "E3914" } } });
      expect((await applied(store, unitOf({ audit: "{}" }))).link?.sequence).toBe(16_385);
      await store.close();
    }));
});

describe("what a rejected commit says of its unit", () => {
  it("is that it was not written, and why, when the writer could say so", () =>
    inFolder(async (folder) => {
      await (await openSqliteStore({ folder })).close();
      const database = new DatabaseSync(join(folder, DATABASE_FILE));
      const writer = new BatchWriter(database);
      const { page_count } = Object(database.prepare("PRAGMA page_count").get());
      database.exec(`PRAGMA max_page_count = ${page_count}`);
      const call = sampleCall({ input: JSON.stringify("x".repeat(4 * PAGE_BYTES)) });
      const [outcome] = writer.apply([encodeUnit(opening(call), { at: 0, retentionMs: 0 })]);
      expect(outcome).toEqual([
        "failed",
        expect.objectContaining({
          code: "E3914",
          retryable: true,
          message: expect.stringContaining("disk is full"),
          advice: expect.stringContaining("free some space"),
        }),
      ]);
      expect(outcome?.[1]).not.toHaveProperty("details");
      database.exec("PRAGMA max_page_count = 1000000");
      expect(writer.apply([encodeUnit(opening(call), { at: 0, retentionMs: 0 })])[0]?.[0]).toBe("applied");
      database.close();
    }));

  it("is that nobody knows, for those that were with the writer when it ended, and no, for those that were not", () =>
    inFolder(async (folder) => {
      await (await openSqliteStore({ folder })).close();
      const writer = await Writer.start({ folder, durability: "power", waitForLockMs: 0 });
      // While another holds the database, the first unit is with the writer and the rest wait for it.
      const blocker = new DatabaseSync(join(folder, DATABASE_FILE));
      blocker.exec("BEGIN IMMEDIATE");
      const submit = () => {
        const job = encodeUnit(opening(sampleCall()), { at: 0, retentionMs: 0 });
        return writer.submit(job, 512);
      };
      const first = Promise.allSettled([submit()]);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const second = Promise.allSettled([submit()]);
      await writer.terminate();
      expect(await first).toMatchObject([
        { reason: { failure: { code: "E3914", details: { unanswered: true } } } },
      ]);
      const [refused] = await second;
      expect(refused).toMatchObject({ reason: { failure: { code: "E3914" } } });
      expect(refused).not.toHaveProperty("reason.failure.details");
      await expect(submit()).rejects.not.toHaveProperty("failure.details");
      blocker.close();
    }));
});

describe("waiting until nothing is under way", () => {
  it("ends for everybody who waits", () =>
    inFolder(async (folder) => {
      await (await openSqliteStore({ folder })).close();
      const writer = await Writer.start({ folder, durability: "power", waitForLockMs: 0 });
      const written = writer.submit(encodeUnit(opening(sampleCall()), { at: 0, retentionMs: 0 }), 512);
      expect(await Promise.all([writer.drain(), writer.drain(), writer.drain()])).toHaveLength(3);
      await written;
      await writer.close();
    }));
});

describe("the death of the writer thread", () => {
  it("rejects what is unanswered and everything later, and the process lives on", () =>
    inFolder(async (folder) => {
      await (await openSqliteStore({ folder })).close();
      const writer = await Writer.start({ folder, durability: "power", waitForLockMs: 0 });
      const store = new SqliteStore(
        new DatabaseSync(join(folder, DATABASE_FILE), { readOnly: true }),
        writer,
      );
      const call = sampleCall();
      await applied(store, opening(call));
      const commits = Array.from({ length: 1_000 }, () => store.commit(opening(sampleCall())));
      const settled = Promise.allSettled(commits);
      await writer.terminate();
      for (const result of await settled) {
        if (result.status === "rejected") expect(result.reason).toMatchObject({ failure: { code: "E3914" } });
      }
      await expect(store.commit(unitOf({}))).rejects.toMatchObject({ failure: { code: "E3914" } });
      expect(await store.calls.get(call.callId)).toBeDefined();
      await store.close();
      await (await openSqliteStore({ folder, waitForLockMs: 0 })).close();
    }));
});
