import { describe, expect, it } from "vitest";
import type { OutboxMessage } from "../ports/outbox.ts";
import type { OpenFixture } from "./store-contract.ts";
import { applied, unitOf } from "./store-contract-samples.ts";

const invoked = (callId: string): OutboxMessage => ({ callId, type: "tool.invoked" });
const succeeded = (callId: string): OutboxMessage => ({ callId, type: "tool.succeeded" });

/** Messages wait, oldest first, until they are said to be delivered. */
export function outboxContract(open: OpenFixture): void {
  describe("the outbox", () => {
    it("keeps messages in order until they are delivered [L3-AUD-1]", async () => {
      const { store } = await open();
      await applied(store, unitOf({ outbox: [invoked("a"), succeeded("a b\u0000")] }));
      await applied(store, unitOf({ outbox: [invoked("c")] }));
      const pending = await store.outbox.pending(10);
      expect(pending.map(({ callId, type }) => ({ callId, type }))).toEqual([
        invoked("a"),
        succeeded("a b\u0000"),
        invoked("c"),
      ]);
      const positions = pending.map(({ position }) => position);
      expect(positions).toEqual(positions.toSorted((one, other) => one - other));
      expect(new Set(positions).size).toBe(3);
    });

    it("forgets up to a position and no further, wherever it falls", async () => {
      const { store } = await open();
      const ids = ["a", "b", "c", "d", "e"];
      await applied(store, unitOf({ outbox: ids.slice(0, 3).map(invoked) }));
      await applied(store, unitOf({ outbox: ids.slice(3).map(invoked) }));
      for (const [index, { position }] of (await store.outbox.pending(10)).entries()) {
        await store.outbox.delivered(position);
        const left = (await store.outbox.pending(10)).map(({ callId }) => callId);
        expect(left).toEqual(ids.slice(index + 1));
      }
    });

    it("never gives a position twice, and takes an old position for nothing new", async () => {
      const { store } = await open();
      await applied(store, unitOf({ outbox: [invoked("a"), invoked("b")] }));
      const last = (await store.outbox.pending(10)).at(-1)?.position ?? 0;
      await store.outbox.delivered(last);
      await applied(store, unitOf({ outbox: [invoked("c")] }));
      await store.outbox.delivered(last);
      const [left, ...more] = await store.outbox.pending(10);
      expect(left).toMatchObject(invoked("c"));
      expect(left?.position).toBeGreaterThan(last);
      expect(more).toEqual([]);
    });

    it("gives at most as many as asked for", async () => {
      const { store } = await open();
      await applied(store, unitOf({ outbox: ["a", "b", "c"].map(invoked) }));
      expect((await store.outbox.pending(2)).map(({ callId }) => callId)).toEqual(["a", "b"]);
      expect(await store.outbox.pending(0)).toEqual([]);
    });
  });
}
