import { describe, expect, it } from "vitest";
import type { Change } from "./change.ts";
import { findRenames } from "./effects.ts";
import type { KnownEntry } from "./entry.ts";

const file = { type: "file", mode: 0o644, mtimeNs: "0" } as const;
const stamp = { uid: 0, gid: 0, nlink: 1, blocks: 0, ctimeNs: "0", inode: "" };
const gone = (path: string, sha256: string, bytes = 1): Change => ({
  path,
  before: { ...file, ...stamp, bytes, sha256 } satisfies KnownEntry,
});
const fresh = (path: string, sha256: string, bytes = 1): Change => ({
  path,
  after: { ...file, bytes, sha256 },
});

function names(...changes: Change[]): string[] {
  return [...findRenames(changes)].map(([to, from]) => `${from.path} > ${to.path}`);
}

describe("renames", () => {
  it("are found by content, each only once", () => {
    expect(names(gone("a", "1"), fresh("b", "1"), fresh("c", "1"))).toEqual(["a > b"]);
  });

  it("prefer the same name in another folder", () => {
    expect(names(gone("x/a", "1"), gone("x/b", "1"), fresh("y/b", "1"), fresh("y/z", "1"))).toEqual([
      "x/b > y/b",
      "x/a > y/z",
    ]);
  });

  it("are none for empty files, and none for other content", () => {
    expect(names(gone("a", "0", 0), fresh("b", "0", 0), gone("c", "1"), fresh("d", "2"))).toEqual([]);
  });
});
