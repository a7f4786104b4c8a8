import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { inFolder } from "../sqlite/fixtures/run-process.ts";
import { Connection } from "./connection.ts";
import { CONVERSATIONS_FILE, openSqliteConversations } from "./index.ts";
import { migrate } from "./migrations.ts";

const RECORD = { conversationId: "c", model: "m", cwd: "/", title: "", createdAt: 1, updatedAt: 1 };
const PROCESS = fileURLToPath(new URL("./fixtures/conversations-process.ts", import.meta.url));

const lost = (message: RegExp) => ({
  failure: { code: "E3914", message: expect.stringMatching(message), advice: expect.any(String) },
});

function openIn(folder: string) {
  return openSqliteConversations({ folder, durability: "process" });
}

describe("the file of conversations", () => {
  it("belongs to its owner alone, as its folder does, whatever the umask [NFR-REL-01]", () =>
    inFolder(async (parent) => {
      const before = process.umask(0o002);
      const folder = join(parent, "deep", "state");
      const conversations = await openIn(folder).finally(() => process.umask(before));
      await conversations.create(RECORD);
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
      const names = await readdir(folder);
      expect(names).toEqual(expect.arrayContaining([CONVERSATIONS_FILE, `${CONVERSATIONS_FILE}-wal`]));
      for (const name of names) expect((await stat(join(folder, name))).mode & 0o777, name).toBe(0o600);
      await conversations.close();
      expect(await readdir(folder)).toEqual([".gitignore", CONVERSATIONS_FILE]);
    }));

  it("is refused with advice where there can be none [NFR-REL-01]", () =>
    inFolder(async (parent) => {
      const folder = join(parent, "file");
      await writeFile(folder, "");
      await expect(openIn(folder)).rejects.toMatchObject(lost(/EEXIST|ENOTDIR/));
      await expect(openIn("/proc/nowhere/state")).rejects.toMatchObject(lost(/ENOENT/));
      await mkdir(join(parent, "state", CONVERSATIONS_FILE), { recursive: true });
      await expect(openIn(join(parent, "state"))).rejects.toMatchObject(lost(/unable to open|disk I\/O/));
    }));

  it("is refused with advice when it is not a database, and left as it was [NFR-REL-01]", () =>
    inFolder(async (folder) => {
      const rubbish = "not a database ".repeat(2_000);
      await writeFile(join(folder, CONVERSATIONS_FILE), rubbish);
      await expect(openIn(folder)).rejects.toMatchObject(lost(/conversations\.db is not a database/));
      expect(await readFile(join(folder, CONVERSATIONS_FILE), "utf8")).toBe(rubbish);
      expect(await readdir(folder)).toEqual([CONVERSATIONS_FILE]);
    }));

  it("rejects with advice when it was damaged, and the process lives on [NFR-REL-01]", () =>
    inFolder(async (folder) => {
      const conversations = await openIn(folder);
      await conversations.create(RECORD);
      await conversations.append("c", [{ kind: "user", text: "x".repeat(100_000), at: 1 }]);
      await conversations.close();
      const path = join(folder, CONVERSATIONS_FILE);
      await writeFile(path, (await readFile(path)).fill(0xee, 4_096));
      const use = async () => {
        const damaged = await openIn(folder);
        await damaged.turns("c").finally(() => damaged.close());
      };
      await expect(use()).rejects.toMatchObject(lost(/malformed|corrupt/));
    }));
});

describe("the version of the file", () => {
  it("is refused when newer code wrote it, and nothing is changed [NFR-REL-01]", () =>
    inFolder(async (folder) => {
      const conversations = await openIn(folder);
      await conversations.create(RECORD);
      await conversations.close();
      const path = join(folder, CONVERSATIONS_FILE);
      const database = new DatabaseSync(path);
      database.exec("PRAGMA journal_mode = DELETE; PRAGMA user_version = 99");
      database.close();
      const before = await readFile(path);
      await expect(openIn(folder)).rejects.toMatchObject(lost(/version 99/));
      expect((await readFile(path)).equals(before)).toBe(true);
      expect(await readdir(folder)).toEqual([CONVERSATIONS_FILE]);
    }));

  it("stays what it was when a migration fails half way [NFR-REL-01]", () => {
    const database = new DatabaseSync(":memory:");
    migrate(database, ["CREATE TABLE one (a)"]);
    const second = "CREATE TABLE two (a); INSERT INTO nowhere VALUES (1)";
    expect(() => migrate(database, ["CREATE TABLE one (a)", second])).toThrow(/nowhere/);
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 1 });
    expect(database.prepare("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "one" }]);
    migrate(database, ["CREATE TABLE one (a)", "CREATE TABLE two (a)"]);
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 2 });
    database.close();
  });
});

describe("durability", () => {
  it("syncs what is kept before it is acknowledged, off this thread, and not what streams in [FR-RES-04] [NFR-REL-04]", async () => {
    const syncing: PromiseWithResolvers<void>[] = [];
    const log = {
      sync: () => {
        syncing.push(Promise.withResolvers());
        return syncing.at(-1)?.promise ?? Promise.reject(new Error("no sync"));
      },
      close: async () => undefined,
    };
    const connection = new Connection(new DatabaseSync(":memory:"), log);
    expect(await connection.note(() => 1)).toBe(1);
    expect(syncing).toHaveLength(0);
    const said: string[] = [];
    const kept = connection.keep(() => said.push("written")).then(() => said.push("acknowledged"));
    await connection.note(() => said.push("meanwhile"));
    syncing[0]?.resolve();
    await kept;
    expect(said).toEqual(["written", "meanwhile", "acknowledged"]);
    const failed = connection.keepAll(() => 1);
    syncing[1]?.reject(new Error("EIO: i/o error, fdatasync"));
    const lost = { failure: { code: "E3914", message: expect.stringMatching(/EIO/) } };
    await expect(failed).rejects.toMatchObject(lost);
    await expect(connection.read(() => 1)).rejects.toMatchObject(lost);
    await connection.close();
  });

  it("syncs the log of a real file, also after it was emptied [NFR-REL-04]", () =>
    inFolder(async (folder) => {
      const conversations = await openSqliteConversations({ folder, durability: "power" });
      await conversations.create(RECORD);
      await conversations.keeping.compact();
      await conversations.journal.open({ conversationId: "c", model: "m", at: 1, batchId: "b" });
      expect(await conversations.journal.close("b", [])).toBe(true);
      await conversations.close();
    }));
});

describe("several processes", () => {
  it("make the file and write in it at once, and nothing is lost [NFR-REL-01] [FR-RES-04]", () =>
    inFolder(async (folder) => {
      const names = ["one", "two", "three"];
      const run = (name: string) => promisify(execFile)(process.execPath, [PROCESS, folder, name]);
      const ended = await Promise.all(names.map(run));
      expect(ended.map(({ stdout }) => stdout)).toEqual(names.map(() => "done\n"));
      const conversations = await openIn(folder);
      for (const name of names) {
        const texts = (await conversations.turns(name)).map((turn) => turn.kind === "user" && turn.text);
        expect(texts.filter((text) => text !== false)).toEqual(
          Array.from({ length: 60 }, (_, at) => `${at}`),
        );
        expect(texts).toHaveLength(120);
        expect(await conversations.journal.openOf(name)).toBeUndefined();
      }
      await conversations.close();
    }));

  it("open one batch of a conversation between them [FR-RES-04]", () =>
    inFolder(async (folder) => {
      const [one, two] = [await openIn(folder), await openIn(folder)];
      await one.create(RECORD);
      const opening = { conversationId: "c", model: "m", at: 1 };
      expect(await one.journal.open({ ...opening, batchId: "first" })).toBe(true);
      expect(await two.journal.open({ ...opening, batchId: "second" })).toBe(false);
      expect(await two.journal.close("first", [])).toBe(true);
      await expect(one.journal.record("first", { kind: "text", delta: "x" })).rejects.toThrow(RangeError);
      expect(await two.journal.open({ ...opening, batchId: "second" })).toBe(true);
      await Promise.all([one.close(), two.close()]);
    }));
});
