import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { binaryText, isBinary } from "./binary-text.ts";

describe("binary content", () => {
  it.each([
    ["nothing", "", false],
    ["a text", "grüße", false],
    ["a NUL", "a\0b", true],
    ["a NUL after 8 KiB", `${"a".repeat(8_192)}\0`, false],
  ])("is told from text: %s [FR-TOOL-READ-01]", (_what, content, binary) => {
    expect(isBinary(Buffer.from(content))).toBe(binary);
  });

  it.each([
    [Buffer.from([0xff]), true],
    [Buffer.from([0x61, 0xc3]), true],
    [Buffer.concat([Buffer.alloc(8_191, 0x61), Buffer.from([0xc3])]), true],
    [Buffer.concat([Buffer.alloc(8_191, 0x61), Buffer.from([0xc3, 0xa9])]), false],
    [Buffer.concat([Buffer.alloc(8_189, 0x61), Buffer.from("😀")]), false],
    [Buffer.concat([Buffer.alloc(8_190, 0x61), Buffer.from("😀")]), false],
    [Buffer.concat([Buffer.alloc(8_191, 0x61), Buffer.from([0x80, 0x80])]), true],
  ])("is told by whole characters of the first 8 KiB (case %#) [FR-TOOL-READ-01]", (content, binary) => {
    expect(isBinary(content)).toBe(binary);
  });

  it("never cuts a text's last character wrongly, wherever the 8 KiB end [FR-TOOL-READ-01]", () => {
    const letter = fc.constantFrom("a", "é", "€", "😀");
    fc.assert(
      fc.property(
        fc.array(letter, { minLength: 4, maxLength: 12 }),
        fc.integer({ min: 8_180, max: 8_192 }),
        (end, at) => {
          expect(isBinary(Buffer.concat([Buffer.alloc(at, 0x61), Buffer.from(end.join(""))]))).toBe(false);
        },
      ),
    );
  });

  it("fits whatever room there is, and is a beginning of the content [FR-TOOL-READ-01]", () => {
    const size = fc.integer({ min: 0, max: 300 });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), size, size, (bytes, readLimit, outputLimit) => {
        const content = Buffer.from(bytes);
        const text = binaryText(content, { readLimit, outputLimit });
        if (text === undefined) {
          expect(outputLimit).toBeLessThan(27);
          return;
        }
        expect(text.length).toBeLessThanOrEqual(outputLimit);
        const [header, body = ""] = text.split("\n");
        const shown = Buffer.from(body, "base64");
        expect(content.subarray(0, shown.length).equals(shown)).toBe(true);
        expect(shown.length).toBeLessThanOrEqual(readLimit);
        expect(header).toBe(
          shown.length === content.length ? "[binary:base64]" : "[binary:base64][truncated]",
        );
      }),
    );
  });
});
