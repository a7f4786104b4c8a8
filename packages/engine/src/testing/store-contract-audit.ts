import { describe, expect, it } from "vitest";
import { GENESIS, linkAll } from "../audit/chain.ts";
import type { OpenFixture } from "./store-contract.ts";
import { applied, unitOf } from "./store-contract-samples.ts";

const bodies = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) =>
    JSON.stringify({ n: from + index, odd: '"\u0000\u2028\n\u{1f600}' }),
  );

/** Events form one chain per tenant, numbered from 1. */
export function auditContract(open: OpenFixture): void {
  describe("the audit record", () => {
    it("links events to their tenant's chain, in order, from 1 [R1-8.1]", async () => {
      const { store } = await open();
      const first = await applied(store, unitOf({ events: bodies(3) }));
      const second = await applied(store, unitOf({ events: bodies(2, 3) }));
      const expected = linkAll(GENESIS, bodies(5));
      expect(await store.audit.read("acme", { after: 0, limit: 10 })).toEqual(expected);
      const links = expected.map(({ sequence, hash }) => ({ sequence, hash }));
      expect([...first.links, ...second.links]).toEqual(links);
      expect(await store.audit.head("acme")).toEqual(links[4]);
    });

    it("keeps tenants apart", async () => {
      const { store } = await open();
      await applied(store, unitOf({ events: bodies(2) }));
      await applied(store, unitOf({ tenant: "other", events: bodies(1) }));
      expect((await store.audit.tenants()).toSorted()).toEqual(["acme", "other"]);
      expect(await store.audit.head("other")).toMatchObject({ sequence: 1 });
      expect(await store.audit.head("nobody")).toBeUndefined();
      expect(await store.audit.read("nobody", { after: 0, limit: 10 })).toEqual([]);
    });

    it("is read from any sequence on, at most as many as asked for", async () => {
      const { store } = await open();
      for (const from of [0, 3, 6]) await applied(store, unitOf({ events: bodies(3, from) }));
      const read = async (after: number, limit: number) =>
        (await store.audit.read("acme", { after, limit })).map(({ sequence }) => sequence);
      expect(await read(0, 4)).toEqual([1, 2, 3, 4]);
      expect(await read(4, 2)).toEqual([5, 6]);
      expect(await read(8, 100)).toEqual([9]);
      expect(await read(9, 100)).toEqual([]);
      expect(await read(0, 0)).toEqual([]);
    });

    it("gives no link to a unit without events, and no chain to its tenant", async () => {
      const { store } = await open();
      expect(await applied(store, unitOf({}))).toEqual({ ok: true, links: [] });
      expect(await store.audit.tenants()).toEqual([]);
    });
  });
}
