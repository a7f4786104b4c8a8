import { describe, expect, it } from "vitest";
import type { OpenFixture } from "./store-contract.ts";
import { sampleRevocation } from "./store-contract-permit-samples.ts";
import { applied, unitOf } from "./store-contract-samples.ts";

/** A revoked token stays revoked, as it first was. */
export function revocationsContract(open: OpenFixture): void {
  describe("revoked tokens", () => {
    it("are kept whole [L3-PRM-1]", async () => {
      const { store } = await open();
      expect(await store.revocations.all()).toEqual([]);
      const revocations = [sampleRevocation(), sampleRevocation({ by: "odd \u0000", reason: "\ud800" })];
      await applied(store, unitOf({ revocations }));
      expect(await store.revocations.all()).toEqual(revocations);
    });

    it("stay as they were first revoked, and revoking again is no conflict [L3-PRM-1]", async () => {
      const { store } = await open();
      const first = sampleRevocation();
      const again = { ...first, reason: "Again.", forgetAt: 0 };
      await applied(store, unitOf({ revocations: [first, again] }));
      const done = await applied(store, unitOf({ revocations: [again], events: ["{}"] }));
      expect(done.links).toHaveLength(1);
      expect(await store.revocations.all()).toEqual([first]);
    });

    it("are told apart by every character of their names, those no encoding knows included [L3-PRM-1]", async () => {
      const { store } = await open();
      const names = [
        "a",
        "A",
        "a ",
        "a\u0000",
        "a\u0000b",
        "\ud800",
        "\udfff",
        "\ufffd",
        '"\\ud800"',
        "e\u0301",
        "é",
      ];
      const revocations = names.map((jti) => sampleRevocation({ jti }));
      for (const revocation of revocations) await applied(store, unitOf({ revocations: [revocation] }));
      expect(await store.revocations.all()).toEqual(revocations);
    });

    it("are the store's own: a later change of what was given or read changes nothing", async () => {
      const { store } = await open();
      const revocation = sampleRevocation();
      const before = { ...revocation };
      await applied(store, unitOf({ revocations: [revocation] }));
      revocation.forgetAt = 0;
      const [read] = await store.revocations.all();
      if (read) read.jti = "other";
      expect(await store.revocations.all()).toEqual([before]);
    });
  });
}
