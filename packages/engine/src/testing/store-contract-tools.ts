import { describe, expect, it } from "vitest";
import type { OpenFixture } from "./store-contract.ts";
import { applied, sampleTool, unitOf } from "./store-contract-samples.ts";

/** Tool versions are put once; afterwards only how they leave can change. */
export function toolsContract(open: OpenFixture): void {
  describe("tool versions", () => {
    it("are kept whole, in the order they were registered", async () => {
      const { store } = await open();
      const records = [
        sampleTool("calc", "1.0.0"),
        { ...sampleTool("zip", "0.1.0"), module: "/tools/zip.ts" },
        sampleTool("calc", "1.1.0"),
      ];
      await applied(store, unitOf({ tools: records.slice(0, 2).map((record) => ({ record })) }));
      await applied(store, unitOf({ tools: records.slice(2).map((record) => ({ record })) }));
      expect(await store.tools.all()).toEqual(records);
    });

    it("take new retirement dates and keep the manifest they came with", async () => {
      const { store } = await open();
      const record = sampleTool("calc", "1.0.0");
      await applied(store, unitOf({ tools: [{ record }] }));
      const retirement = { deprecatedAt: 5, replacement: "2.0.0", guidance: "Use 2.\u0000" };
      const manifest = { ...record.manifest, description: "Rewritten history" };
      await applied(store, unitOf({ tools: [{ record: { ...record, manifest, retirement } }] }));
      expect(await store.tools.all()).toEqual([{ ...record, retirement }]);
    });

    it("are put into quarantine and released, together with their retirement dates", async () => {
      const { store } = await open();
      const quarantine = { at: 5, reason: "odd \u0000 \ud800", by: "sallyport", callId: "c" };
      const record = { ...sampleTool("calc", "1.0.0"), retirement: { deprecatedAt: 4 }, module: "/calc.ts" };
      const other = { ...sampleTool("zip", "1.0.0"), quarantine: { at: 1, reason: "No.", by: "ada" } };
      await applied(store, unitOf({ tools: [{ record }, { record: other }] }));
      const held = { ...record, quarantine, retirement: {} };
      await applied(store, unitOf({ tools: [{ record: held }] }));
      expect(await store.tools.all()).toEqual([held, other]);
      await applied(store, unitOf({ tools: [{ record }] }));
      expect(await store.tools.all()).toEqual([record, other]);
    });
  });
}
