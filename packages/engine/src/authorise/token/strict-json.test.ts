import type { JsonValue } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readStrictObject } from "./strict-json.ts";

const read = (text: string) => readStrictObject(Buffer.from(text));

describe("strict JSON", () => {
  it("reads every object as JSON.parse does, however it is spaced", () => {
    const object = fc.dictionary(
      fc.string({ maxLength: 8 }).filter((name) => name !== "__proto__"),
      fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue),
    );
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, 1, "\t"), (value, space) => {
        fc.pre(!JSON.stringify(value).includes("__proto__"));
        const text = JSON.stringify(value, null, space);
        expect(read(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it("finds a name that stands twice, wherever and however it is written [L3-PRM-1]", () => {
    const name = fc.string({ maxLength: 6 }).filter((text) => text !== "__proto__");
    fc.assert(
      fc.property(name, fc.nat(5), fc.boolean(), (key, depth, spaced) => {
        const colon = spaced ? " \t:\n" : ":";
        const written = JSON.stringify(key);
        const escaped = `"${[...key].map((char) => escapeAll(char)).join("")}"`;
        const twice = `{"a\\\\"${colon}"\\\\\\":",${written}${colon}1,${escaped}${colon}2}`;
        fc.pre(key !== "a\\");
        expect(read(`${'{"x":['.repeat(depth)}${twice}${"]}".repeat(depth)}`)).toBe("names a member twice");
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["{}", "object"],
    ['{"a":":","b":"\\":"}', "object"],
    ['{"a":{"b":1},"c":{"b":1}}', "object"],
    ['{"a":1,"\\u0061":2}', "names a member twice"],
    ['{"a":1,"a" :2}', "names a member twice"],
    ['{"__proto__":1}', "is nested too deeply, or names a member __proto__"],
    ['{"a":[{"__proto__":1}]}', "is nested too deeply, or names a member __proto__"],
    ["[]", "is not a JSON object"],
    ["null", "is not a JSON object"],
    ['{"a":1}x', "is not a JSON object"],
    ["", "is not a JSON object"],
    ["\ufeff{}", "is not a JSON object"],
    [`{"a":${"[".repeat(16)}${"]".repeat(16)}}`, "is nested too deeply, or names a member __proto__"],
    [`{"a":${"[".repeat(15)}${"]".repeat(15)}}`, "object"],
  ])("%s: %s", (text, expected) => {
    const value = read(text);
    expect(typeof value === "string" ? value : "object").toBe(expected);
  });

  it("refuses bytes that are not UTF-8", () => {
    expect(readStrictObject(Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]))).toBe(
      "is not UTF-8 text",
    );
  });
});

function escapeAll(char: string): string {
  return Array.from(
    { length: char.length },
    (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}
