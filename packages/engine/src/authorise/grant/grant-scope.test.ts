import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesAny } from "../../match/patterns.ts";
import { coversResource, hostOf, includesGlob, isInside } from "./grant-scope.ts";

const glob = fc.string({ unit: fc.constantFrom("a", "b", "/", "*"), maxLength: 8 });
const filler = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 4 });

describe("resources of a scope", () => {
  it.each<[string[], string | undefined, boolean]>([
    [[], undefined, true],
    [[], "/anything", true],
    [["/data/*"], "/data/a/b.txt", true],
    [["/data/*"], "/database", false],
    [["/data/*"], undefined, false],
    [["/a", "/b"], "/b", true],
    [["/data/*"], "/data/../etc/passwd", false],
    [["/data/*"], "/data/%2e%2e/etc", false],
    [["/data/*"], "/data/..%2fetc", false],
    [["/data/*"], "/data/a/..", false],
    [["/data/*"], "\\data\\..\\x", false],
    [["/data/*"], "/data/..a/b..", true],
    [["*"], "../x", false],
  ])("%j covers %s: %s [R3-2]", (globs, resource, covered) => {
    expect(coversResource(globs, resource)).toBe(covered);
  });

  it("a glob that is included has no resource outside the other one [R3-3]", () => {
    fc.assert(
      fc.property(glob, glob, fc.array(filler, { minLength: 8, maxLength: 8 }), (outer, inner, fills) => {
        if (!includesGlob([outer], inner)) return;
        const one = inner.split("*").reduce((text, part, index) => text + (fills[index] ?? "") + part);
        expect(matchesAny([outer], one), `${one} of ${inner}`).toBe(true);
      }),
    );
  });

  it.each([
    ["/data/*", "/data/x/*", true],
    ["/data/*", "/data/x", true],
    ["/data/*", "/data/*", true],
    ["*", "/data/*", true],
    ["/data/x", "/data/*", false],
    ["/data/*.txt", "/data/*", false],
    ["/data/*", "/*", false],
  ])("%s includes %s: %s [R3-3]", (outer, inner, included) => {
    expect(includesGlob([outer], inner)).toBe(included);
  });

  it.each([
    ["/data", "/data", true],
    ["/data", "/data/x/y", true],
    ["/data/", "/data//x", true],
    ["/data", "/database", false],
    ["/data", "/data/../etc", false],
    ["/data", "/data/x/../y", false],
    ["/data", "/data/%2e%2e/etc", false],
    ["/", "/etc", true],
    [".", "docs/a", true],
    [".", "/etc/passwd", false],
    ["docs", "./docs/a", true],
    ["docs", "/docs/a", false],
    ["/data", "\\data\\x", false],
    ["/data", "/data/x\0y", false],
    ["/data", "", false],
    ["", "/data", false],
    ["..", "../x", false],
  ])("inside %j is %j: %s", (folder, path, inside) => {
    expect(isInside([folder], path)).toBe(inside);
  });

  it.each([
    ["api.example.com", "api.example.com"],
    ["API.example.com:443", "api.example.com"],
    ["https://api.example.com/a?b", "api.example.com"],
    ["https://example.com.", "example.com"],
    ["https://evil.com#@good.com", "evil.com"],
    ["https://good.com@evil.com/", undefined],
    ["https://good.com:x@evil.com/", undefined],
    ["", undefined],
    ["http://", undefined],
  ])("the host of %j is %s", (resource, host) => {
    expect(hostOf(resource)).toBe(host);
  });
});
