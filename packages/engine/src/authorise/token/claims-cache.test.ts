import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { type ReadClaims, readClaims } from "./claims.ts";
import { ClaimsCache } from "./claims-cache.ts";
import { claiming, payload } from "./fixtures/token-forge.ts";
import { VersionRanges } from "./version-ranges.ts";

function said(jti: string): ReadClaims {
  const read = readClaims(JSON.parse(JSON.stringify(payload({ jti }))), {
    ranges: new VersionRanges(),
    kid: "k",
  });
  if (isFailure(read)) throw new Error(read.message);
  return read;
}

describe("remembered tokens", () => {
  it("are found again by the whole token, not by its end", () => {
    const cache = new ClaimsCache(10);
    const token = claiming({ jti: "a" });
    cache.set(token, said("a"));
    expect(cache.get(token)?.claims.jti).toBe("a");
    expect(cache.get(`x${token.slice(1)}`)).toBeUndefined();
    expect(cache.get(token.slice(1))).toBeUndefined();
  });

  it("are at most as many as allowed, and the longest unused goes first", () => {
    const cache = new ClaimsCache(2);
    cache.set("a", said("a"));
    cache.set("b", said("b"));
    cache.get("a");
    cache.set("c", said("c"));
    expect(["a", "b", "c"].map((token) => cache.get(token)?.claims.jti)).toEqual(["a", undefined, "c"]);
    expect(cache.size).toBe(2);
  });

  it("are dropped by jti, all at once, or not kept at all", () => {
    const cache = new ClaimsCache(5);
    for (const jti of ["a", "b", "c"]) cache.set(jti, said(jti));
    cache.drop(new Set(["a", "c", "z"]));
    expect(cache.size).toBe(1);
    cache.delete("b");
    expect(cache.size).toBe(0);
    const none = new ClaimsCache(0);
    none.set("a", said("a"));
    expect(none.size).toBe(0);
  });
});
