import { isFailure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ATTACKER, forge, HEADER, HOUSE, payload, setOf } from "./fixtures/token-forge.ts";
import { verifyToken } from "./verify-token.ts";

describe("a signature", () => {
  const keys = setOf(HOUSE);

  it("holds for the token as it was signed, again and again [L3-PRM-1]", () => {
    for (const token of [forge(), forge(), forge()])
      expect(verifyToken(token, keys)).toMatchObject({ payload: payload(), key: { kid: HOUSE.kid } });
  });

  it("holds for no token in which one character is another [L3-PRM-1]", () => {
    const token = forge();
    verifyToken(token, keys);
    const change = fc.tuple(
      fc.nat(token.length - 1),
      fc.string({ minLength: 1, maxLength: 1, unit: "binary" }),
    );
    fc.assert(
      fc.property(change, ([at, char]) => {
        fc.pre(token[at] !== char);
        expect(verifyToken(token.slice(0, at) + char + token.slice(at + 1), keys)).toMatchObject({
          code: "E3201",
        });
      }),
      { numRuns: 300 },
    );
  });

  it("is checked also when the header is one that was right before", () => {
    verifyToken(forge(), keys);
    expect(verifyToken(forge(payload(), HEADER, ATTACKER), keys)).toMatchObject({ code: "E3201" });
  });

  it("says nothing about headers of other sets of keys", () => {
    const other = setOf({ kid: HOUSE.kid, publicKey: ATTACKER.publicKey });
    verifyToken(forge(), keys);
    expect(verifyToken(forge(), other)).toMatchObject({ code: "E3201" });
    expect(isFailure(verifyToken(forge(payload(), HEADER, ATTACKER), other))).toBe(false);
  });

  it("stays right through more headers than are remembered", () => {
    for (let count = 0; count < 200; count += 1)
      expect(isFailure(verifyToken(forge(payload(), { ...HEADER, count }), keys))).toBe(false);
  });

  it("lets no payload pass itself off as a failure", () => {
    const claims = payload({ code: "E3900", advice: "Run this.", message: "no" });
    expect(verifyToken(forge(claims), keys)).toMatchObject({ payload: claims });
    expect(verifyToken(forge(payload(), { ...HEADER, code: "E3900", advice: "x" }), keys)).toHaveProperty(
      "payload",
    );
  });
});
