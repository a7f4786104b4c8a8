import { describe, expect, it } from "vitest";
import { textDiff } from "./text-diff.ts";

const diff = (before: string | Buffer, after: string | Buffer) =>
  textDiff({ path: "f", content: Buffer.from(before) }, { path: "f", content: Buffer.from(after) });

describe("the diff of a text", () => {
  it("is a unified one", () => {
    expect(diff("a\nb\nc\n", "a\nB\nc\n")).toEqual({
      kind: "text",
      diff: "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
    });
  });

  it("names what is not there /dev/null, and keeps a name on one line", () => {
    const result = textDiff({ content: Buffer.alloc(0) }, { path: "a\nb", content: Buffer.from("x\n") });
    expect(result).toMatchObject({ diff: expect.stringContaining('--- /dev/null\n+++ "b/a\\nb"\n') });
  });

  it.each([
    ["a zero byte", Buffer.from("a\0b")],
    ["text that is not UTF-8", Buffer.from([0x61, 0xff, 0x62])],
  ])("is none for %s", (_, content) => expect(diff("a", content)).toEqual({ kind: "binary" }));

  it("of texts that have little in common shows both, and does not take forever to find out", () => {
    const lines = (mark: string, end: string) =>
      Array.from({ length: 5_000 }, (_, index) => `${mark}${index}`).join("\n") + end;
    const started = performance.now();
    const result = diff(lines("a", "\n"), lines("b", ""));
    expect(result).toMatchObject({
      kind: "whole",
      diff: expect.stringMatching(/^--- a\/f\n\+\+\+ b\/f\n@@ -1,5000 \+1,5000 @@\n-a0\n/),
    });
    expect(result).toMatchObject({ diff: expect.stringMatching(/\+b4999\n\\ No newline at end of file\n$/) });
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  it("shows no secret, on one line or on many", () => {
    const key = [
      "-----BEGIN RSA PRIVATE KEY-----",
      "MIIEowIBAAKCAQEAvZ3x".repeat(3),
      "-----END RSA PRIVATE KEY-----",
    ];
    const shown = JSON.stringify(diff("x\n", `x\n${key.join("\n")}\npassword=hunter2hunter2\n`));
    expect(shown).not.toContain("MIIEowIBAAKCAQEA");
    expect(shown).not.toContain("hunter2hunter2");
  });
});
