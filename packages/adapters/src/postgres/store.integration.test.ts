import { storeContract } from "@sallyport/engine/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { reasonToSkip } from "../../../../scripts/services.ts";
import { TestServer } from "./fixtures/server.ts";

const reason = reasonToSkip("postgres");

describe.skipIf(reason !== undefined)(`PostgreSQL${reason ? ` (${reason})` : ""}`, () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  storeContract("the PostgreSQL store", async () => {
    let store = await server.open("contract");
    let aheadMs = 0;
    return {
      store,
      async reopen() {
        await store.close();
        store = await server.open("contract");
        return store;
      },
      async advance(ms: number) {
        aheadMs += ms;
        await server.setClock("contract", aheadMs);
      },
      async dispose() {
        await store.close();
        if (aheadMs > 0) await server.setClock("contract", 0);
        await server.empty("contract");
      },
    };
  });
});
