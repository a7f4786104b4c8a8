import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { GENESIS, linkAll } from "@sallyport/engine";
import {
  applied,
  moved,
  opening,
  sampleApproval,
  sampleCall,
  sampleIntent,
  sampleTool,
  unitOf,
} from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { encodeUnit } from "./encode-unit.ts";
import { inFolder } from "./fixtures/run-process.ts";
import { DATABASE_FILE, openSqliteStore } from "./index.ts";
import { FIRST_SCHEMA } from "./schema-1.ts";

const closed = sampleCall({ idempotencyKey: "kept", user: "ada" });
const running = sampleIntent({ tenant: "other" });
const tool = { ...sampleTool("calc", "1.0.0"), retirement: { deprecatedAt: 5 }, module: "/calc.ts" };
const events = linkAll(GENESIS, ['{"n":1}', '{"n":2}']);

/** Writes a folder as the first version left it: its schema, and a few rows in every table. */
async function writeFirstVersion(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const database = new DatabaseSync(join(folder, DATABASE_FILE));
  database.exec(
    `PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; ${FIRST_SCHEMA}; PRAGMA user_version = 1`,
  );
  const insert = (table: string, ...cells: (string | number | null)[]) =>
    database.prepare(`INSERT INTO ${table} VALUES (${cells.map(() => "?").join()})`).run(...cells);
  for (const [index, call] of [closed, running].entries()) {
    const [, , cells] = encodeUnit(opening(call), []);
    insert("tool_invocations", index + 1, ...(cells ?? []), `2 ${events[1]?.hash}`);
  }
  insert("tool_definitions", "calc", "The calc tool", "Adds", "computation", "[]", "1.0.0", "native", 1, 1);
  const { manifest, manifestHash, retirement, module, registeredAt } = tool;
  const texts = [JSON.stringify(manifest), manifestHash, JSON.stringify(retirement)];
  insert("tool_versions", 1, "calc", "1.0.0", ...texts, module, registeredAt);
  insert("state_scopes", 1, "acme", "calc", 3);
  insert("state", 1, "n", 3, "c", "41");
  insert("audit", 1, "acme", 1, 2, events.map(({ hash, body }) => `${hash} ${body}`).join("\n"));
  insert("audit_heads", "acme", 2, events[1]?.hash ?? "");
  insert("outbox", 4, "tool.invoked c\ntool.succeeded c");
  database.close();
}

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
      expect(await store.tools.all()).toEqual([tool]);
      const snapshot = await store.state.open({ tenant: "acme", tool: "calc" });
      expect(await store.state.get(snapshot, "n")).toEqual({ value: 41, version: 3 });
      expect(await store.audit.read("acme", { after: 0, limit: 9 })).toEqual(events);
      expect(await store.outbox.pending(9)).toEqual([
        { callId: "c", type: "tool.invoked", position: 3 },
        { callId: "c", type: "tool.succeeded", position: 4 },
      ]);
      expect(await store.approvals.list({ limit: 9 })).toEqual([]);
      expect(await store.grants.all()).toEqual([]);
      expect(await store.revocations.all()).toEqual([]);
      await store.close();
    }));

  it("goes on as if it had always been of this version", () =>
    inFolder(async (folder) => {
      await writeFirstVersion(folder);
      const store = await openSqliteStore({ folder });
      const call = sampleIntent({ phase: "waiting" });
      const record = sampleApproval({ callId: call.callId });
      const { links } = await applied(store, { ...opening(call), approvals: [{ record, order: "{}" }] });
      expect(links[0]?.sequence).toBe(3);
      const consumed = moved(record, "consumed");
      await applied(
        store,
        unitOf({ begin: call, approvals: [{ record: consumed, expect: 1, order: null }] }),
      );
      const quarantine = { at: 5, reason: "It reached outside.", by: "sallyport" };
      await applied(store, unitOf({ tools: [{ record: { ...tool, quarantine } }] }));
      await store.close();
      const again = await openSqliteStore({ folder });
      expect(await again.approvals.ofCall(call.callId)).toEqual(consumed);
      expect(await again.calls.get(call.callId)).toEqual({ ...call, phase: "executing" });
      expect(await again.tools.all()).toEqual([{ ...tool, quarantine }]);
      expect((await again.commit(opening(sampleCall({ idempotencyKey: "kept" })))).ok).toBe(false);
      await again.close();
    }));

  it("is refused for reading until it has been opened for writing once", () =>
    inFolder(async (folder) => {
      await writeFirstVersion(folder);
      const old = { failure: { code: "E3914", message: expect.stringMatching(/version 1\b.*version 2/) } };
      await expect(openSqliteStore({ folder, readOnly: true })).rejects.toMatchObject(old);
      await (await openSqliteStore({ folder })).close();
      const store = await openSqliteStore({ folder, readOnly: true });
      expect(await store.calls.get(running.callId)).toEqual(running);
      await store.close();
    }));
});
