import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePatterns, matchesAny } from "./patterns.ts";

const text = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 8 });
const pattern = fc.string({ unit: fc.constantFrom("a", "b", ".", "*"), maxLength: 8 });

/** What `*` means, said with a regular expression. */
function model(patterns: string[], name: string): boolean {
  return patterns.some((one) => {
    const source = one.split("*").map((part) => part.replaceAll(".", "\\."));
    return new RegExp(`^${source.join("[^]*")}$`).test(name);
  });
}

describe("name patterns", () => {
  it("mean the same compiled or not, and what `*` means", () => {
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 3 }), text, (patterns, name) => {
        expect(compilePatterns(patterns)(name)).toBe(model(patterns, name));
        expect(matchesAny(patterns, name)).toBe(model(patterns, name));
      }),
      { numRuns: 500 },
    );
  });
});
