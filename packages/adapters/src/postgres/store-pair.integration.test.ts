import type { Store } from "@sallyport/engine/ports";
import { crowd, fixtureEngine, storeContract } from "@sallyport/engine/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

  it("keeps the calls of two tenants apart that come with one id to two replicas at once", async () => {
    const tools = [
      { id: "look", run: () => "seen" },
      { id: "save", run: () => "saved", conduct: { sideEffects: "external" } } as const,
    ];
    const lease = { leaseMs: 60_000, renewMs: 20_000 };
    const open = async () => await fixtureEngine({ store: await server.open("ids"), lease }, tools);
    const replicas = [
      { tenant: "acme", ...(await open()) },
      { tenant: "globex", ...(await open()) },
    ];
    const calls = crowd(36, (n) => ({
      tool: n % 3 === 1 ? "save" : "look",
      isAccepted: n % 3 === 2,
      callId: `c${n}`,
    }));
    const ends = await Promise.all(
      calls.flatMap(({ isAccepted, tool, callId }) =>
        replicas.map(({ engine, tenant }) => {
          const request = { tool, input: {}, caller: { tenant, agent: "agent" }, callId };
          return isAccepted ? engine.accept(request) : engine.call(request);
        }),
      ),
    );
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(["success", "pending"]));
    expect(new Set(ends.map(({ callId }) => callId)).size).toBe(2 * calls.length);
    for (const { engine } of replicas) await engine.close();
  });

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
