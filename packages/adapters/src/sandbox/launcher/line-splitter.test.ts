import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineSplitter } from "./line-splitter.ts";

function split(text: string, chunkBytes: number, maxBytes = 1000): (string | undefined)[] {
  const splitter = new LineSplitter(maxBytes);
  const bytes = Buffer.from(text);
  const lines: (string | undefined)[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    lines.push(...splitter.push(bytes.subarray(at, at + chunkBytes)).map((line) => line?.toString("utf8")));
  }
  return lines;
}

describe("LineSplitter", () => {
  it("gives the same lines however the bytes come", () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-zé ]{0,9}$/)),
        fc.integer({ min: 1, max: 12 }),
        (lines, chunkBytes) => {
          expect(split(lines.map((line) => `${line}\n`).join(""), chunkBytes)).toEqual(lines);
        },
      ),
    );
  });

  it.each([1, 3, 100])("passes over a line that is too long, in chunks of %i", (chunkBytes) => {
    expect(split("ok\ntoo long\nexact\nok\n", chunkBytes, 5)).toEqual(["ok", undefined, "exact", "ok"]);
  });

  it("says whether the stream broke off", () => {
    const splitter = new LineSplitter(4);
    expect(splitter.isInsideLine).toBe(false);
    splitter.push(Buffer.from("ab"));
    expect(splitter.isInsideLine).toBe(true);
    splitter.push(Buffer.from("cdefg"));
    expect(splitter.isInsideLine).toBe(true);
    splitter.push(Buffer.from("\n"));
    expect(splitter.isInsideLine).toBe(false);
  });
});
