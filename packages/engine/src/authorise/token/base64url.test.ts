import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase64url } from "./base64url.ts";

const roundTrip = (text: string) => {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
};

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const near = fc.string({
  unit: fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...ALPHABET) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("+", "/", "=", " ", "\n", ".", "\0", "\u0141", "\ud800", "\u012b"),
    },
  ),
  maxLength: 40,
});

describe("base64url", () => {
  it("gives back what was encoded", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(decodeBase64url(Buffer.from(bytes).toString("base64url"))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it("takes exactly the texts that encoding gives [L3-PRM-1]", () => {
    fc.assert(
      fc.property(near, (text) => {
        expect(decodeBase64url(text)).toEqual(roundTrip(text));
      }),
      { numRuns: 5_000 },
    );
  });

  it("takes no other spelling of the same bytes, at any length", () => {
    for (let length = 1; length <= 4; length += 1) {
      const good = Buffer.alloc(length, 0xa5).toString("base64url");
      for (const letter of ALPHABET) {
        const text = good.slice(0, -1) + letter;
        expect(decodeBase64url(text), text).toEqual(roundTrip(text));
      }
      expect(decodeBase64url(`${good}=`)).toBeUndefined();
      expect(decodeBase64url(`${good}A`)).toEqual(roundTrip(`${good}A`));
    }
  });
});
