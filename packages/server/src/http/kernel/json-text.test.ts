import { isFailure, type JsonValue } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readBody } from "./json-body.ts";
import { readJsonText } from "./json-text.ts";

const BOUNDS = { maxDepth: 4, maxValues: 20 };
const WIDE = { maxDepth: 64, maxValues: 100_000 };

function faultOf(text: string) {
  const read = readJsonText(text, BOUNDS);
  return read.ok ? undefined : { code: read.failure.code, path: read.failure.issues?.[0]?.path };
}

describe("JSON text", () => {
  it("is read as JSON.parse reads it", () => {
    const names = fc.string({ maxLength: 8 }).filter((name) => name !== "__proto__");
    const value = fc.letrec<{ any: JsonValue }>((tie) => ({
      any: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.constant(null),
        fc.boolean(),
        fc.maxSafeInteger(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
        fc.string({ unit: "grapheme" }),
        fc.array(tie("any"), { maxLength: 5 }),
        fc.dictionary(names, tie("any"), { maxKeys: 5, noNullPrototype: true }),
      ),
    })).any;
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, "\t"), (given, space) => {
        const text = JSON.stringify(given, null, space);
        expect(readJsonText(text, WIDE)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it("never throws, whatever it is", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string({ maxLength: 40 }), (bytes, type) => {
        const read = readBody(Buffer.from(bytes), type);
        expect(read.ok || isFailure(read.failure)).toBe(true);
      }),
    );
  });

  it.each([
    ['{"a":1,"a":2}', { code: "E3903", path: "" }],
    ['{"a":{"x":1},"b":{"x":1}}', undefined],
    ['{"a":"\\"a\\":","b":"\\\\"}', undefined],
    ['{"a":{"__proto__":1}}', { code: "E3903", path: "/a/__proto__" }],
    ['{"constructor":{"prototype":1}}', { code: "E3903", path: "/constructor" }],
    ['{"constructor":"Ferrari"}', undefined],
    ['{"a":[0,1e400]}', { code: "E3903", path: "/a/1" }],
    ['{"a":["\\udfff"]}', { code: "E3903", path: "/a/0" }],
    ['{"a":"\\ud83d\\ude00"}', undefined],
    ['{"a":9007199254740993}', { code: "E3903", path: "" }],
    ['{"a":9007199254740992}', undefined],
    ['{"a":6.02e23,"b":-1e21}', undefined],
    ['{"a~/b":{"__proto__":1}}', { code: "E3903", path: "/a~0~1b/__proto__" }],
    ["[[[[]]]]", undefined],
    ["[[[[[]]]]]", { code: "E3902", path: undefined }],
    [`[${"1,".repeat(18)}1]`, undefined],
    [`[${"1,".repeat(19)}1]`, { code: "E3902", path: undefined }],
  ])("%s", (text, fault) => {
    expect(faultOf(text)).toEqual(fault);
  });

  it("says where it stops to be JSON, and nothing of what stands there", () => {
    expect(readJsonText('{\n  "pin": s3cret\n}', WIDE)).toMatchObject({
      ok: false,
      failure: {
        code: "E3903",
        message: "The body is not JSON: see line 2, column 10.",
        issues: [{ path: "", reason: "is not JSON: see line 2, column 10" }],
      },
    });
  });

  it("says what to do about a number that would change", () => {
    const read = readJsonText('{"id":12345678901234567890123}', WIDE);
    expect(read).toMatchObject({
      ok: false,
      failure: { message: expect.stringContaining("send it as text") },
    });
  });
});
