import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failure } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { freshKeys } from "./fresh-keys.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-fresh-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("keys of a running server", () => {
  it("are read once, and again within a second of a change", () => {
    const file = join(folder, "current");
    let [now, reads] = [0, 0];
    const read = () => ({ reads: ++reads });
    const keys = freshKeys(read, [file], () => now);
    expect([keys().reads, keys().reads]).toEqual([1, 1]);
    writeFileSync(`${file}.new`, "b");
    renameSync(`${file}.new`, file);
    expect(keys().reads).toBe(1);
    now = 1_000;
    expect([keys().reads, keys().reads]).toEqual([2, 2]);
    now = 5_000;
    expect(keys().reads).toBe(2);
  });

  it("are none while they cannot be used", () => {
    const file = join(folder, "current");
    let now = 0;
    const answers = [{ good: true }, failure("E3227"), { good: true }];
    const keys = freshKeys(
      () => answers.shift() ?? failure("E3227"),
      [file],
      () => now,
    );
    expect(keys()).toEqual({ good: true });
    for (const text of ["damaged", "mended again"]) {
      writeFileSync(file, text);
      now += 1_000;
      if (text === "damaged")
        expect(keys).toThrowError(expect.objectContaining({ failure: failure("E3227") }));
      else expect(keys()).toEqual({ good: true });
    }
  });
});
