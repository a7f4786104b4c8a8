import { isFailure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ATTACKER, forge, forgeText, HEADER, HOUSE, payload, setOf } from "./fixtures/token-forge.ts";
import { verifyToken } from "./jws.ts";

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

describe("the JSON of a token", () => {
  const keys = setOf(HOUSE);
  const read = (text: string) => verifyToken(forgeText(HEADER, text), keys);

  it("is read as JSON.parse does, however it is spaced", () => {
    const object = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 4 }));
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, 1, "\t"), (value, space) => {
        const text = JSON.stringify(value, null, space);
        fc.pre(!text.includes("__proto__"));
        expect(read(text)).toEqual({ payload: JSON.parse(text), key: keys.find(HOUSE.kid) });
      }),
      { numRuns: 50 },
    );
  });

  it("names nothing twice, wherever and however it is written [L3-PRM-1]", () => {
    const name = fc.string({ maxLength: 6 }).filter((text) => text !== "__proto__" && text !== "a\\");
    fc.assert(
      fc.property(name, fc.nat(5), fc.constantFrom(":", " \t:\n"), (key, depth, colon) => {
        const escaped = Array.from({ length: key.length }, (_, at) => escapedUnit(key.charCodeAt(at))).join(
          "",
        );
        const twice = `{"a\\\\"${colon}"\\\\\\":",${JSON.stringify(key)}${colon}1,"${escaped}"${colon}2}`;
        expect(read(`${'{"x":['.repeat(depth)}${twice}${"]}".repeat(depth)}`)).toMatchObject({
          message: "The token's payload names a member twice.",
        });
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ["{}", undefined],
    ['{"a":":","b":"\\":"}', undefined],
    ['{"a":{"b":1},"c":{"b":1}}', undefined],
    ['{"a":[{"__proto__":1}]}', "is nested too deeply, or names a member __proto__"],
    ['{"a":1}x', "is not a JSON object"],
    [`{"a":${"[".repeat(16)}${"]".repeat(16)}}`, "is nested too deeply, or names a member __proto__"],
    [`{"a":${"[".repeat(15)}${"]".repeat(15)}}`, undefined],
  ])("%s: %s", (text, problem) => {
    const answer = read(text);
    if (problem === undefined) expect(answer).toHaveProperty("payload");
    else expect(answer).toMatchObject({ message: `The token's payload ${problem}.` });
  });
});

function escapedUnit(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
}
