import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeContract } from "@sallyport/engine/testing";
import { openSqliteStore } from "./index.ts";

storeContract("the SQLite store", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-store-"));
  let now = 1_767_225_600_000;
  const options = { folder, now: () => now };
  let store = await openSqliteStore(options);
  return {
    store,
    async reopen() {
      await store.close();
      store = await openSqliteStore(options);
      return store;
    },
    advance(ms) {
      now += ms;
    },
    async dispose() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});
