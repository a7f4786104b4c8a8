import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeJson, decodeText, encodeJson, encodeText } from "./text.ts";

/** Any code units, those that PostgreSQL refuses and those that escape them often among them. */
const text = fc
  .array(fc.oneof(fc.constantFrom(0, 1, 2, 0x5c, 0x75, 0x64, 0xd800, 0xdbff, 0xdc00, 0xdfff), fc.nat(0xffff)))
  .map((units) => String.fromCharCode(...units));

it("keeps every text, in a form that PostgreSQL takes [L3-DAT-1]", () => {
  fc.assert(
    fc.property(text, (given) => {
      const kept = encodeText(given);
      expect(kept.isWellFormed() && !kept.includes("\0")).toBe(true);
      expect(decodeText(kept)).toBe(given);
    }),
  );
});

it("keeps the order of code points, and what a text begins with", () => {
  const wellFormed = text.filter((one) => one.isWellFormed());
  fc.assert(
    fc.property(wellFormed, wellFormed, (one, other) => {
      const plain = Buffer.compare(Buffer.from(one), Buffer.from(other));
      expect(Buffer.compare(Buffer.from(encodeText(one)), Buffer.from(encodeText(other)))).toBe(plain);
      expect(encodeText(one + other).startsWith(encodeText(one))).toBe(true);
    }),
  );
});

it("encodes the strings in JSON text as it encodes them one by one, names of members included", () => {
  fc.assert(
    fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text))), (value) => {
      const kept = encodeJson(JSON.stringify(value));
      expect(kept.includes("\\u0000")).toBe(JSON.stringify(JSON.parse(kept)).includes("\\u0000"));
      const [first] = Object.values(value);
      if (typeof first === "string") expect(Object.values(JSON.parse(kept))[0]).toBe(encodeText(first));
      const strings = { values: Object.values(value) };
      expect(decodeJson(encodeJson(JSON.stringify(strings)))).toEqual(strings);
    }),
  );
});

it("leaves JSON text inside a string alone", () => {
  const inner = JSON.stringify({ odd: "\0 \u0001 \ud800" });
  expect(JSON.parse(encodeJson(JSON.stringify({ inner })))).toEqual({ inner });
});
