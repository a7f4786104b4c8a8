import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, NotJsonError } from "./canonical-json.ts";
import type { JsonValue } from "./json.ts";

/** IEEE 754 bits and text, from RFC 8785 appendix B. */
const NUMBERS = [
  ["0000000000000000", "0"],
  ["8000000000000000", "0"],
  ["0000000000000001", "5e-324"],
  ["8000000000000001", "-5e-324"],
  ["7fefffffffffffff", "1.7976931348623157e+308"],
  ["ffefffffffffffff", "-1.7976931348623157e+308"],
  ["4340000000000000", "9007199254740992"],
  ["c340000000000000", "-9007199254740992"],
  ["4430000000000000", "295147905179352830000"],
  ["44b52d02c7e14af5", "9.999999999999997e+22"],
  ["44b52d02c7e14af6", "1e+23"],
  ["44b52d02c7e14af7", "1.0000000000000001e+23"],
  ["444b1ae4d6e2ef4e", "999999999999999700000"],
  ["444b1ae4d6e2ef4f", "999999999999999900000"],
  ["444b1ae4d6e2ef50", "1e+21"],
  ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
  ["3eb0c6f7a0b5ed8d", "0.000001"],
  ["41b3de4355555553", "333333333.3333332"],
  ["41b3de4355555554", "333333333.33333325"],
  ["41b3de4355555555", "333333333.3333333"],
  ["41b3de4355555556", "333333333.3333334"],
  ["41b3de4355555557", "333333333.33333343"],
  ["becbf647612f3696", "-0.0000033333333333333333"],
  ["43143ff3c1cb0959", "1424953923781206.2"],
] as const;

function fromBits(hex: string): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(`0x${hex}`));
  return view.getFloat64(0);
}

/** The pointer and reason of what is thrown for a value no type would let through. */
function refusal(value: unknown): { path: string; reason: string } {
  try {
    canonicalJson(value as JsonValue);
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    if (error instanceof NotJsonError) return { path: error.path, reason: error.reason };
  }
  throw new Error("the value was accepted");
}

describe("canonicalJson", () => {
  it.each(NUMBERS)("writes the double %s as %s", (bits, text) => {
    expect(canonicalJson(fromBits(bits))).toBe(text);
  });

  it("writes literals, numbers and strings as RFC 8785 shows", () => {
    const value = {
      // biome-ignore lint/correctness/noPrecisionLoss: the vector itself has one digit too many
      numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it("sorts names by UTF-16 code units as RFC 8785 shows", () => {
    const value = {
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis",
    };
    expect(canonicalJson(value)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis",' +
        '"€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });

  it("sorts objects with many names too", () => {
    const names = Array.from({ length: 40 }, (_, index) => `n${(index * 17) % 40}`);
    const value = Object.fromEntries(names.map((name) => [name, 0]));
    expect(canonicalJson(value)).toBe(canonicalize(value));
  });

  it("agrees with the reference implementation on any JSON value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "grapheme" }), (value) => {
        expect(canonicalJson(value as JsonValue)).toBe(canonicalize(value));
      }),
    );
  });

  it("keeps every value, and gives one text whatever the order of names", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "binary" }), fc.double({ noNaN: true, noDefaultInfinity: true })),
        (value) => {
          const reversed = Object.fromEntries(Object.entries(value).reverse());
          expect(canonicalJson(reversed)).toBe(canonicalJson(value));
          expect(canonicalJson(JSON.parse(canonicalJson(value)))).toBe(canonicalJson(value));
        },
      ),
    );
  });

  it.each([
    ["NaN", { a: [1, { b: Number.NaN }] }, "/a/1/b", "NaN"],
    ["Infinity", [Number.NEGATIVE_INFINITY], "/0", "-Infinity"],
    ["undefined", { a: undefined }, "/a", "undefined"],
    ["a hole in a list", new Array(1), "/0", "undefined"],
    ["a function", { "x/y~z": () => 0 }, "/x~1y~0z", "a function"],
    ["a bigint", { n: 1n }, "/n", "a bigint"],
    ["a symbol", Symbol("s"), "", "a symbol"],
    ["a lone surrogate", ["\ud800"], "/0", "a string with a lone surrogate"],
    ["a lone surrogate in a name", { "a\udc00": 1 }, "/a\udc00", "a string with a lone surrogate"],
    ["a date", { at: new Date(0) }, "/at", "an instance of a class"],
    ["a map", new Map(), "", "an instance of a class"],
  ])("refuses %s and says where", (_name, value, path, found) => {
    expect(refusal(value)).toEqual({ path, reason: `must be a JSON value, not ${found}` });
  });

  it("refuses a cycle instead of running for ever", () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(refusal(cycle).reason).toContain("a cycle");
  });

  it("takes 512 levels and refuses one more", () => {
    const nested = (levels: number): JsonValue => (levels === 0 ? 0 : [nested(levels - 1)]);
    expect(canonicalJson(nested(512))).toHaveLength(1025);
    expect(refusal(nested(513)).path).toBe("/0".repeat(512));
  });

  it("takes objects without a prototype, and the same object twice", () => {
    const shared = Object.assign(Object.create(null), { b: 1, a: 2 });
    expect(canonicalJson([shared, shared])).toBe('[{"a":2,"b":1},{"a":2,"b":1}]');
  });
});
