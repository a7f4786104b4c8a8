import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeContract } from "@sallyport/engine/testing";
import { openSqliteStore } from "./index.ts";

storeContract("the SQLite store", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sallyport-store-"));
  let store = await openSqliteStore({ folder });
  return {
    store,
    async reopen() {
      await store.close();
      store = await openSqliteStore({ folder });
      return store;
    },
    async dispose() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});
