import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputText, type Piece } from "./output-text.ts";

function bytesOf({ chunk, encoding }: Piece): Buffer {
  return Buffer.from(chunk, encoding ?? "utf8");
}

/** Cuts bytes at these places and feeds them piece by piece. */
function fed(bytes: Uint8Array, cuts: readonly number[]): Piece[] {
  const text = new OutputText();
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  const pieces = places.slice(1).map((end, index) => text.push(bytes.subarray(places[index], end)));
  return [...pieces, text.flush()].filter((piece) => piece !== undefined);
}

describe("OutputText", () => {
  it("never breaks a character that is split over chunks", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.array(fc.nat(), { maxLength: 6 }), (sent, cuts) => {
        const text = sent.toWellFormed();
        const pieces = fed(Buffer.from(text), cuts);
        expect(pieces.every(({ encoding }) => encoding === undefined)).toBe(true);
        expect(pieces.map(({ chunk }) => chunk).join("")).toBe(text);
      }),
    );
  });

  it("loses no byte of what is no text, however it is cut", () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.array(fc.nat(), { maxLength: 6 }), (sent, cuts) => {
        expect(Buffer.concat(fed(sent, cuts).map(bytesOf))).toEqual(Buffer.from(sent));
      }),
    );
  });

  it("passes bytes that are no UTF-8 on as base64, and text after them as text", () => {
    const text = new OutputText();
    expect(text.push(Uint8Array.of(0xff, 0x41))).toEqual({ chunk: "/0E=", encoding: "base64" });
    expect(text.push(Buffer.from("é"))).toEqual({ chunk: "é" });
  });

  it("keeps a byte order mark", () => {
    expect(new OutputText().push(Buffer.from("\uFEFFa"))).toEqual({ chunk: "\uFEFFa" });
  });
});
