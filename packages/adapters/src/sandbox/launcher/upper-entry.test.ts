import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readUpperLine } from "./upper-entry.ts";

const ENTRY = {
  path: "a/b",
  type: "file",
  mode: 420,
  size: 5,
  mtimeNs: "-1500000001",
  uid: 1,
  gid: 2,
  ino: "18446744073709551615",
  dev: "7",
  nlink: 1,
  blocks: 8,
};

const read = (entry: object) => readUpperLine(Buffer.from(JSON.stringify(entry)));

describe("readUpperLine", () => {
  it("keeps large numbers exact", () => {
    expect(read(ENTRY)).toEqual({
      ...ENTRY,
      mtimeNs: -1500000001n,
      ino: 18446744073709551615n,
      dev: 7n,
      opaque: false,
    });
  });

  it("gives names that are not UTF-8 as bytes too", () => {
    const bytes = Buffer.from([0x61, 0xff]);
    const entry = read({ ...ENTRY, path: undefined, pathBase64: bytes.toString("base64") });
    expect(entry).toMatchObject({ path: "a\ufffd", pathBytes: bytes });
  });

  it.each([
    ["no path", { path: undefined }],
    ["an unknown type", { type: "door" }],
    ["a number as text", { mode: "420" }],
    ["an inode that is no number", { ino: "0x1" }],
  ])("takes no entry with %s", (_, change) => {
    expect(read({ ...ENTRY, ...change })).toBeUndefined();
  });

  it("reads anything without throwing", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(() => readUpperLine(Buffer.from(text))).not.toThrow();
      }),
    );
  });
});
