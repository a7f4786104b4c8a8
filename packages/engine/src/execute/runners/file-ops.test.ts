import { assert, constantFrom, integer, option, property, record, string, uint8Array } from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeFileAnswer,
  decodeFileOp,
  encodeFileAnswer,
  encodeFileOp,
  type FileOp,
  MAX_FILE_BYTES,
  MAX_FILE_VALUE_CHARS,
  performFileOp,
} from "./file-ops.ts";
import { createMemoryFiles } from "./fixtures/memory-files.ts";

describe("a file operation on its way to the host", () => {
  it("survives as it was", () => {
    const others: FileOp[] = [
      { op: "read", args: [] },
      { op: "list", args: [] },
      { op: "stat", args: [] },
      { op: "makeFolder", args: [] },
      { op: "remove", args: [{ recursive: true }] },
      { op: "rename", args: ["ü/\n"] },
      { op: "link", args: ["../x"] },
      { op: "setMode", args: [0o4755] },
    ];
    for (const wanted of others) expect(decodeFileOp(encodeFileOp(wanted))).toEqual(wanted);
    const modes = option(integer({ min: 0, max: 0o7777 }), { nil: undefined });
    assert(
      property(uint8Array(), modes, (content, mode) => {
        const option = mode === undefined ? {} : { mode };
        const sent = decodeFileOp(encodeFileOp({ op: "write", args: [content, option] }));
        expect(sent).toEqual({ op: "write", args: [Buffer.from(content), option] });
      }),
    );
  });

  it("takes the bytes of a view, not of what is behind it", () => {
    const content = new Uint8Array(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2);
    expect(decodeFileOp(encodeFileOp({ op: "write", args: [content] })).args[0]).toEqual(Buffer.from([2, 3]));
  });

  it("fits into its message, or is refused [MCX-7]", () => {
    const largest = encodeFileOp({ op: "write", args: [Buffer.alloc(MAX_FILE_BYTES), { mode: 0o7777 }] });
    expect(largest.length).toBeLessThanOrEqual(MAX_FILE_VALUE_CHARS);
    const larger = Buffer.alloc(MAX_FILE_BYTES + 1);
    expect(() => encodeFileOp({ op: "write", args: [larger] })).toThrow(RangeError);
    expect(() => encodeFileAnswer(larger)).toThrow(RangeError);
  });

  it.each([
    "",
    "null",
    "[]",
    '"read"',
    "{}",
    '{"op":"exec"}',
    '{"op":"toString"}',
    '{"op":"write"}',
    '{"op":"write","args":{}}',
    '{"op":"write","args":[[1]]}',
    '{"op":"write","args":["",{"mode":-1}]}',
    '{"op":"setMode","args":[4096]}',
    '{"op":"setMode","args":["0644"]}',
    '{"op":"rename"}',
    '{"op":"rename","args":[7]}',
    `{"op":"link","args":["${"x".repeat(4_097)}"]}`,
  ])("%s from a thread or a process is refused", (text) => {
    expect(() => decodeFileOp(text)).toThrow();
  });
});

describe("a file's answer on its way back", () => {
  const entries = record({
    name: string(),
    type: constantFrom("file", "folder", "symlink", "other"),
    bytes: integer({ min: 0 }),
    mode: integer({ min: 0, max: 0o7777 }),
    modifiedAt: integer(),
  });

  it("survives as it was", () => {
    const roundTrip = (answer: Parameters<typeof encodeFileAnswer>[0]) =>
      decodeFileAnswer(encodeFileAnswer(answer));
    expect(roundTrip(undefined)).toBeUndefined();
    expect(roundTrip([])).toEqual([]);
    expect(roundTrip(Buffer.alloc(0))).toEqual(Buffer.alloc(0));
    assert(
      property(uint8Array(), (bytes) => {
        expect(roundTrip(Buffer.from(bytes))).toEqual(Buffer.from(bytes));
      }),
    );
    assert(
      property(entries, (entry) => {
        expect(roundTrip(entry)).toEqual(entry);
      }),
    );
  });

  it("is what the host's files gave", async () => {
    const files = createMemoryFiles();
    await performFileOp(files, "a", { op: "write", args: ["x", { mode: 0o600 }] });
    expect(await performFileOp(files, "a", { op: "read", args: [] })).toEqual(Buffer.from("x"));
    expect(await performFileOp(files, "a", { op: "stat", args: [] })).toMatchObject({ mode: 0o600 });
    await expect(performFileOp(files, "b", { op: "setMode", args: [0] })).rejects.toMatchObject({
      code: "ENOENT",
    });
  });
});
