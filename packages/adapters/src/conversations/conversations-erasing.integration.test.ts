import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { inFolder } from "../sqlite/fixtures/run-process.ts";
import { CONVERSATIONS_FILE, openSqliteConversations } from "./index.ts";

const RECORD = { model: "m", cwd: "/", title: "", createdAt: 1, updatedAt: 1 };
const TABLES = ["conversations", "turns", "batches", "batch_parts", "file_reads"];

/** Conversations `gone`, with words in every table, and `kept`. */
async function filled(folder: string) {
  const conversations = await openSqliteConversations({ folder, durability: "process" });
  for (const conversationId of ["gone", "kept"]) await conversations.create({ ...RECORD, conversationId });
  await conversations.append("gone", [{ kind: "user", text: `private-words ${"x".repeat(300_000)}`, at: 1 }]);
  await conversations.reads.note("gone", { path: "/private-words", sha256: "a", at: 1 });
  await conversations.journal.open({ batchId: "b", conversationId: "gone", model: "m", at: 1 });
  await conversations.journal.record("b", { kind: "text", delta: "private-words" });
  return conversations;
}

function rowsIn(path: string): Record<string, number> {
  const database = new DatabaseSync(path, { readOnly: true });
  const count = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
  const rows = Object.fromEntries(TABLES.map((table) => [table, count(table)]));
  database.close();
  return rows;
}

describe("a conversation that was removed", () => {
  it("has no row left anywhere, and its words are not in the file any more [NFR-REL-01]", () =>
    inFolder(async (folder) => {
      const path = join(folder, CONVERSATIONS_FILE);
      const conversations = await filled(folder);
      await conversations.close();
      expect((await readFile(path)).includes("private-words")).toBe(true);
      const again = await openSqliteConversations({ folder, durability: "process" });
      await again.keeping.remove(["gone"], { openToo: true });
      await again.close();
      expect(rowsIn(path)).toEqual({ conversations: 1, turns: 0, batches: 0, batch_parts: 0, file_reads: 0 });
      expect((await readFile(path)).includes("private-words")).toBe(false);
    }));

  it("gives its room back to the disk, and is not in the log any more, while the file stays open [NFR-REL-01]", () =>
    inFolder(async (folder) => {
      const path = join(folder, CONVERSATIONS_FILE);
      const conversations = await filled(folder);
      await conversations.keeping.remove(["gone"], { openToo: true });
      expect(await conversations.keeping.compact()).toBeGreaterThan(300_000);
      expect((await stat(path)).size).toBeLessThan(100_000);
      for (const file of [path, `${path}-wal`]) {
        expect((await readFile(file)).includes("private-words"), file).toBe(false);
      }
      expect(await conversations.get("kept")).toMatchObject(RECORD);
      await conversations.close();
    }));

  it("does not slow down batches that close afterwards: only what people delete is overwritten", () =>
    inFolder(async (folder) => {
      const path = join(folder, CONVERSATIONS_FILE);
      const conversations = await filled(folder);
      await conversations.keeping.remove(["nobody"]);
      await conversations.journal.close("b", []);
      await conversations.close();
      expect(rowsIn(path)).toMatchObject({ batches: 0, batch_parts: 0 });
      const traces = (await readFile(path)).toString("latin1").split("private-words").length - 1;
      expect(traces).toBeGreaterThan(2);
    }));
});
