import { describe, expect, it } from "vitest";
import { GENESIS, linkAll } from "../audit/chain.ts";
import type { OpenFixture } from "./store-contract.ts";
import {
  applied,
  opening,
  sampleCall,
  sampleClosing,
  sampleIntent,
  unitOf,
  writing,
} from "./store-contract-samples.ts";

const CROWD = 100;

/** What holds when many commit at once. */
export function raceContract(open: OpenFixture): void {
  describe("many units at once", () => {
    it("give each tenant one contiguous chain and each event its own link [R1-8.1]", async () => {
      const { store } = await open();
      const units = crowd(() => unitOf({ open: sampleCall(), events: ['{"a":1}', '{"b":2}'] }));
      const links = (await Promise.all(units.map((unit) => applied(store, unit)))).flatMap(
        (done) => done.links,
      );
      const sequences = links.map(({ sequence }) => sequence).sort((one, other) => one - other);
      expect(sequences).toEqual(Array.from({ length: 2 * CROWD }, (_, index) => index + 1));
      const entries = await store.audit.read("acme", { after: 0, limit: 1000 });
      expect(entries).toEqual(
        linkAll(
          GENESIS,
          entries.map(({ body }) => body),
        ),
      );
      expect(new Set(links.map(({ hash }) => hash)).size).toBe(2 * CROWD);
    });

    it("let one of those with the same idempotency key through, and show it to the others", async () => {
      const { store } = await open();
      const units = crowd(() => opening(sampleCall({ idempotencyKey: "once" })));
      const results = await Promise.all(units.map((unit) => store.commit(unit)));
      expect(results.filter(({ ok }) => ok)).toHaveLength(1);
      const winner = await store.calls.byIdempotencyKey({ tenant: "acme", agent: "agent-1", key: "once" });
      const shown = results.flatMap((result) => (result.ok ? [] : [result.conflict]));
      for (const conflict of shown) expect(conflict).toEqual({ kind: "idempotency", existing: winner });
    });

    it("close a call once", async () => {
      const { store } = await open();
      const call = sampleIntent();
      await applied(store, opening(call));
      const close = { callId: call.callId, phase: "closed", closing: sampleClosing(call.callId) } as const;
      const results = await Promise.all(crowd(() => store.commit(unitOf({ close, events: ["{}"] }))));
      expect(results.filter(({ ok }) => ok)).toHaveLength(1);
      expect(await store.audit.head("acme")).toMatchObject({ sequence: 2 });
    });

    it("lose no update of a shared counter [R1-4.3]", async () => {
      const { store } = await open();
      const scope = { tenant: "acme", tool: "counter" };
      const increment = async (): Promise<void> => {
        const snapshot = await store.state.open(scope);
        const entry = await store.state.get(snapshot, "n");
        const next = Number(entry?.value ?? 0) + 1;
        const result = await store.commit(writing(scope, snapshot, { n: next }));
        store.state.release(snapshot);
        if (!result.ok) await increment();
      };
      await Promise.all(Array.from({ length: 20 }, increment));
      expect((await store.state.get(await store.state.open(scope), "n"))?.value).toBe(20);
    });

    it("do not disturb each other when some conflict", async () => {
      const { store } = await open();
      const known = sampleCall();
      await applied(store, opening(known));
      const units = crowd((index) => opening(index % 2 === 0 ? sampleCall() : known));
      const results = await Promise.all(units.map((unit) => store.commit(unit)));
      expect(results.map(({ ok }) => ok)).toEqual(crowd((index) => index % 2 === 0));
      expect(await store.audit.head("acme")).toMatchObject({ sequence: 1 + CROWD / 2 });
    });
  });
}

function crowd<Item>(make: (index: number) => Item): Item[] {
  return Array.from({ length: CROWD }, (_, index) => make(index));
}
