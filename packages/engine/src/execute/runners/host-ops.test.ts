import { assert, constantFrom, integer, option, property, record, string, uint8Array } from "fast-check";
import { describe, expect, it } from "vitest";
import type { UseOf } from "../../ports/runner.ts";
import { createJob, createTestHost } from "./fixtures/job.ts";
import { useTool } from "./fixtures/use-tool.ts";
import {
  decodeAnswer,
  decodeArgs,
  encodeAnswer,
  encodeArgs,
  type HostOp,
  longestArgs,
  MAX_FILE_BYTES,
  performHostOp,
} from "./host-ops.ts";
import { createInlineRunner } from "./inline-runner.ts";

const sent = (op: HostOp, args: unknown[]) => decodeArgs(op, encodeArgs(op, args));

describe("what a tool asks, on its way to the host", () => {
  it("survives as it was", () => {
    const asked: [HostOp, unknown[]][] = [
      ["read", ["a"]],
      ["remove", ["a", { recursive: true }]],
      ["rename", ["a", "ü/\n"]],
      ["link", ["a", "../x"]],
      ["setMode", ["a", 0o4755]],
      ["put", ["k", { list: [null, "\ud800"] }]],
      ["use", ["plain"]],
      ["use", ["net", { action: "read", resource: "/ü\n\ud800", bytes: 0 }]],
      ["output", ["text"]],
    ];
    for (const [op, args] of asked) expect(sent(op, args)).toEqual(args);
    const modes = option(integer({ min: 0, max: 0o7777 }), { nil: undefined });
    assert(
      property(uint8Array(), modes, (content, mode) => {
        const option = mode === undefined ? {} : { mode };
        expect(sent("write", ["a", content, option])).toEqual(["a", Buffer.from(content), option]);
      }),
    );
  });

  it("of a use keeps only the known fields [R3-4]", () => {
    expect(decodeArgs("use", '["net",{"action":"read","extra":1}]')).toEqual(["net", { action: "read" }]);
  });

  it("takes the bytes of a view, not of what is behind it", () => {
    const content = new Uint8Array(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2);
    expect(sent("write", ["a", content])[1]).toEqual(Buffer.from([2, 3]));
  });

  it("fits into its message, or is refused [MCX-7]", () => {
    const longest = "\u0001".repeat(4_096);
    const largest = encodeArgs("write", [longest, Buffer.alloc(MAX_FILE_BYTES), { mode: 0o7777 }]);
    expect(largest.length).toBeLessThanOrEqual(longestArgs("write"));
    expect(encodeArgs("rename", [longest, longest]).length).toBeLessThanOrEqual(longestArgs("rename"));
    const larger = Buffer.alloc(MAX_FILE_BYTES + 1);
    expect(() => encodeArgs("write", ["a", larger])).toThrow(RangeError);
    expect(() => encodeAnswer("read", larger)).toThrow(RangeError);
  });

  it.each<[HostOp, string]>([
    ["read", ""],
    ["read", "null"],
    ["read", '"a"'],
    ["read", "{}"],
    ["read", "[]"],
    ["write", '["a"]'],
    ["write", '["a",[1]]'],
    ["write", '["a","",{"mode":-1}]'],
    ["setMode", '["a",4096]'],
    ["setMode", '["a","0644"]'],
    ["rename", '["a"]'],
    ["rename", '["a",7]'],
    ["link", `["a","${"x".repeat(4_097)}"]`],
    ["use", "["],
    ["use", '["net",null]'],
    ["use", '["net",[]]'],
    ["use", '["net","x"]'],
    ["use", '["net",{"action":1}]'],
    ["use", '["net",{"bytes":1.5}]'],
    ["use", `["net",{"resource":"${"x".repeat(4_097)}"}]`],
    ["output", "[1]"],
  ])("%s %s from a thread or a process is refused", (op, text) => {
    expect(() => decodeArgs(op, text)).toThrow();
  });

  it("reaches the host from a tool in this thread [R3-4]", async () => {
    const used: [string, UseOf | undefined][] = [];
    const host = { ...createTestHost(), use: async (name: string, on?: UseOf) => void used.push([name, on]) };
    const runner = createInlineRunner();
    const implementation = { kind: "inline" as const, operations: useTool.operations };
    const told = await runner.run(createJob(implementation, { operation: "tell", host }));
    expect(told).toMatchObject({ ok: true, output: "told" });
    expect(used).toEqual([
      ["plain", undefined],
      ["net", { action: "GET", resource: "https://a.com/ü" }],
      ["disk", { resource: "/data/a", bytes: 7 }],
      ["empty", {}],
    ]);
    const misused = await runner.run(createJob(implementation, { operation: "misuse", host }));
    expect(misused).toMatchObject({
      output: ["TypeError", "TypeError", "TypeError", "RangeError", "TypeError", "TypeError"],
    });
    expect(used).toHaveLength(4);
    await runner.close();
  });
});

describe("the host's answer on its way back", () => {
  const entries = record({
    name: string(),
    type: constantFrom("file", "folder", "symlink", "other"),
    bytes: integer({ min: 0 }),
    mode: integer({ min: 0, max: 0o7777 }),
    modifiedAt: integer(),
  });

  it("survives as it was", () => {
    const roundTrip = (op: HostOp, answer: unknown) => decodeAnswer(op, encodeAnswer(op, answer));
    expect(roundTrip("stat", undefined)).toBeUndefined();
    expect(roundTrip("list", [])).toEqual([]);
    expect(roundTrip("get", null)).toBeNull();
    assert(
      property(uint8Array(), entries, (bytes, entry) => {
        expect(roundTrip("read", Buffer.from(bytes))).toEqual(Buffer.from(bytes));
        expect(roundTrip("stat", entry)).toEqual(entry);
      }),
    );
  });

  it("is what the host gave", async () => {
    const host = createTestHost();
    await performHostOp(host, "write", ["a", "x", { mode: 0o600 }]);
    expect(await performHostOp(host, "read", ["a"])).toEqual(Buffer.from("x"));
    expect(await performHostOp(host, "stat", ["a"])).toMatchObject({ mode: 0o600 });
    await expect(performHostOp(host, "setMode", ["b", 0])).rejects.toMatchObject({ code: "ENOENT" });
  });
});
