import { DatabaseSync } from "node:sqlite";
import { applied, unitOf } from "@sallyport/engine/testing";
import { expect, it } from "vitest";
import { inFolder } from "./fixtures/run-process.ts";
import { openSqliteStore } from "./index.ts";

it("a probe writes, changes nothing, and rejects while nothing can be written", () =>
  inFolder(async (folder) => {
    const store = await openSqliteStore({ folder });
    await applied(store, unitOf({ audit: '{"tenant":"acme"}' }));
    const other = new DatabaseSync(`${folder}/sallyport.db`);
    const version = () => other.prepare("PRAGMA data_version").get()?.data_version;
    const before = version();
    await store.probe?.();
    expect(version()).not.toBe(before);
    expect(await store.audit.heads("acme")).toMatchObject([{ sequence: 1 }]);
    other.exec("BEGIN IMMEDIATE");
    await expect(store.probe?.()).rejects.toThrow(/E3914/);
    other.exec("ROLLBACK");
    other.close();
    await store.probe?.();
    await store.close();
    const reading = await openSqliteStore({ folder, readOnly: true });
    await expect(reading.probe?.()).rejects.toThrow(/E3914/);
    await reading.close();
  }));
