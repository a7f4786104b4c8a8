import type { Store } from "@sallyport/engine/ports";
import { storeContract } from "@sallyport/engine/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { reasonToSkip } from "../../../../scripts/services.ts";
import { TestServer } from "./fixtures/server.ts";

const reason = reasonToSkip("postgres");

/** One store whose calls go to several in turn, as those of a client do behind a balancer. */
function inTurn(stores: readonly [Store, ...Store[]]): Store {
  let turn = 0;
  const next = () => stores[turn++ % stores.length] ?? stores[0];
  const part = (name: keyof Store) =>
    Object.fromEntries(
      Object.keys(stores[0][name] ?? {}).map((method) => [
        method,
        (...args: unknown[]) => Reflect.apply(Reflect.get(next()[name] ?? {}, method), undefined, args),
      ]),
    );
  const parts = Object.entries(stores[0])
    .filter(([, member]) => typeof member === "object")
    .map(([name]) => [name, part(name as keyof Store)]);
  return {
    ...Object.fromEntries(parts),
    isShared: true,
    commit: (unit) => next().commit(unit),
    probe: async () => next().probe?.(),
    close: async () => void (await Promise.all(stores.map((store) => store.close()))),
  };
}

describe.skipIf(reason !== undefined)(`Two processes on PostgreSQL${reason ? ` (${reason})` : ""}`, () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  // Two Store objects share nothing but the server [X-5] [X-9].
  storeContract("two PostgreSQL stores on one schema, used in turn,", async () => {
    const open = async () => inTurn([await server.open("pair"), await server.open("pair")]);
    let store = await open();
    let aheadMs = 0;
    return {
      store,
      async reopen() {
        await store.close();
        store = await open();
        return store;
      },
      async advance(ms: number) {
        aheadMs += ms;
        await server.setClock("pair", aheadMs);
      },
      async dispose() {
        await store.close();
        if (aheadMs > 0) await server.setClock("pair", 0);
        await server.empty("pair");
      },
    };
  });
});
