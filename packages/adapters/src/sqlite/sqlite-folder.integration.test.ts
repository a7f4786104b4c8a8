import { copyFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { applied, opening, sampleCall } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { inFolder } from "./fixtures/run-process.ts";
import { DATABASE_FILE, openSqliteStore } from "./index.ts";
import { migrate } from "./migrations.ts";

const lost = (message: RegExp) => ({
  failure: { code: "E3914", message: expect.stringMatching(message), advice: expect.any(String) },
});

describe("the state folder", () => {
  it("and everything in it belongs to its owner alone, whatever the umask", () =>
    inFolder(async (parent) => {
      const before = process.umask(0o002);
      const folder = join(parent, "deep", "state");
      const store = await openSqliteStore({ folder }).finally(() => process.umask(before));
      await applied(store, opening(sampleCall()));
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
      const names = await readdir(folder);
      expect(names).toEqual(
        expect.arrayContaining([DATABASE_FILE, `${DATABASE_FILE}-wal`, "lock.db", "owner.json"]),
      );
      for (const name of names) expect((await stat(join(folder, name))).mode & 0o777, name).toBe(0o600);
      await store.close();
      expect((await readdir(folder)).toSorted()).toEqual([".gitignore", "lock.db", DATABASE_FILE]);
    }));

  it("names its owner while it is held", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      expect(JSON.parse(await readFile(join(folder, "owner.json"), "utf8"))).toMatchObject({
        pid: process.pid,
      });
      await store.close();
    }));

  it("is refused with advice when it is a file", () =>
    inFolder(async (parent) => {
      const folder = join(parent, "file");
      await writeFile(folder, "");
      await expect(openSqliteStore({ folder })).rejects.toMatchObject(lost(/EEXIST|ENOTDIR/));
      await expect(openSqliteStore({ folder: join(folder, "deeper") })).rejects.toMatchObject(
        lost(/ENOTDIR/),
      );
    }));

  it("is refused with advice, and does not hang, where no folder can be made", async () => {
    await expect(openSqliteStore({ folder: "/proc/nowhere/state" })).rejects.toMatchObject(lost(/ENOENT/));
  });

  it("is refused with advice when this user may not write in it", async (context) => {
    if (process.getuid?.() === 0) context.skip("root may write everywhere");
    await inFolder(async (parent) => {
      const folder = join(parent, "theirs");
      await mkdir(folder, { mode: 0o500 });
      await expect(openSqliteStore({ folder })).rejects.toMatchObject(lost(/EACCES/));
    });
  });

  it("is refused for reading when nothing has been written yet", () =>
    inFolder(async (folder) => {
      await expect(openSqliteStore({ folder, readOnly: true })).rejects.toMatchObject(lost(/unable to open/));
    }));
});

describe("a database that cannot be used", () => {
  it("is refused with advice when it is not one, and left as it was", () =>
    inFolder(async (folder) => {
      const rubbish = "not a database ".repeat(2_000);
      await writeFile(join(folder, DATABASE_FILE), rubbish);
      await expect(openSqliteStore({ folder })).rejects.toMatchObject(lost(/not a database/));
      await expect(openSqliteStore({ folder, readOnly: true })).rejects.toMatchObject(lost(/not a database/));
      expect(await readFile(join(folder, DATABASE_FILE), "utf8")).toBe(rubbish);
    }));

  it("rejects reads and writes with advice when it was damaged, and the process lives on", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const call = sampleCall();
      for (let index = 0; index < 50; index += 1) await applied(store, opening(sampleCall()));
      await applied(store, opening(call));
      await store.close();
      const path = join(folder, DATABASE_FILE);
      const bytes = await readFile(path);
      await writeFile(path, bytes.fill(0xee, 16_384));
      const damaged = await openSqliteStore({ folder, readOnly: true });
      await expect(damaged.calls.get(call.callId)).rejects.toMatchObject(lost(/malformed|corrupt/));
      await damaged.close();
    }));

  it.each([
    ["after an ordinary end", [""]],
    ["with what was written last in its log", ["", "-wal"]],
  ])("is refused when its end is cut off, by who writes and who reads, %s", (_, suffixes) =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      for (let index = 0; index < 50; index += 1) await applied(store, opening(sampleCall()));
      await store.close();
      const path = join(folder, DATABASE_FILE);
      const beside = new DatabaseSync(path);
      beside.exec("PRAGMA wal_autocheckpoint = 0; CREATE TABLE last (a); INSERT INTO last VALUES (1)");
      const copyWithout = async (pages: number) => {
        const copy = join(folder, `without-${pages}`);
        await mkdir(copy);
        for (const suffix of suffixes) await copyFile(path + suffix, join(copy, DATABASE_FILE + suffix));
        await truncate(join(copy, DATABASE_FILE), (await stat(path)).size - pages * 16_384);
        return copy;
      };
      await (await openSqliteStore({ folder: await copyWithout(0) })).close();
      for (const pages of [1, 5]) {
        const copy = await copyWithout(pages);
        for (const readOnly of [true, false])
          await expect(openSqliteStore({ folder: copy, readOnly })).rejects.toMatchObject(
            lost(/malformed|cut off/),
          );
        await rm(copy, { recursive: true });
      }
      beside.close();
    }),
  );

  it("is refused when newer code wrote it, and left as it was", () =>
    inFolder(async (folder) => {
      await (await openSqliteStore({ folder })).close();
      const database = new DatabaseSync(join(folder, DATABASE_FILE));
      database.exec("PRAGMA user_version = 99");
      await expect(openSqliteStore({ folder })).rejects.toMatchObject(lost(/version 99/));
      await expect(openSqliteStore({ folder, readOnly: true })).rejects.toMatchObject(lost(/version 99/));
      database.close();
    }));

  it("is read as soon as the process that holds it has made the tables", () =>
    inFolder(async (folder) => {
      const database = new DatabaseSync(join(folder, DATABASE_FILE));
      database.exec("PRAGMA journal_mode = WAL");
      const refused = openSqliteStore({ folder, readOnly: true });
      await expect(refused).rejects.toMatchObject(lost(/version 0/));
      await writeFile(join(folder, "owner.json"), JSON.stringify({ pid: 1, startedAt: "now" }));
      const reader = openSqliteStore({ folder, readOnly: true, waitForLockMs: 60_000 });
      await setTimeout(60);
      migrate(database);
      await (await reader).close();
      database.close();
    }));

  it("keeps its old version whole when a migration fails half way", () => {
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
