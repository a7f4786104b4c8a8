import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import type { Store } from "@sallyport/engine/ports";
import { expect, it } from "vitest";
import { Session } from "./session.ts";

it("looks at a store many times through one connection, opened anew only when the first writer has made the store", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "sallyport-session-"));
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const session = new Session({}, { stdin, stdout, stderr, cwd });
  const stores: Store[] = [];
  const look = async (store: Store) => {
    stores.push(store);
    if (stores.length === 2) await (await openSqliteStore({ folder: session.config.stateFolder })).close();
    expect(await store.approvals.list({ limit: 1 })).toEqual([]);
    return stores.length === 6;
  };
  await session.looking(look, { everyMs: 1, signal: new AbortController().signal });
  const [before, , after] = stores;
  expect(stores).toEqual([before, before, after, after, after, after]);
  expect(new Set(stores).size).toBe(2);
  rmSync(cwd, { recursive: true });
});
