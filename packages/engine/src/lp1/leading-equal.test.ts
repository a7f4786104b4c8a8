import fc from "fast-check";
import { expect, it } from "vitest";
import { leadingEqual } from "./leading-equal.ts";

it("counts the leading lines that are equal at each place [FR-TOOL-PATCH-01]", { timeout: 60_000 }, () => {
  const find = fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 1, maxLength: 8 });
  const file = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 30 });
  fc.assert(
    fc.property(find, file, (block, names) => {
      const plain = names.map((_, at) => {
        const differs = block.findIndex((name, index) => name !== names[at + index]);
        return differs === -1 ? block.length : differs;
      });
      expect([...leadingEqual(Int32Array.from(block), Int32Array.from(names))]).toEqual(plain);
    }),
    { numRuns: 1_000 },
  );
});
