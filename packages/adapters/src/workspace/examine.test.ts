import { describe, expect, it } from "vitest";
import type { Entry, KnownEntry } from "./entry.ts";
import { standingOf } from "./examine.ts";

const plain = { mode: 0o644, mtimeNs: "1", uid: 0, gid: 0, nlink: 1, blocks: 0, ctimeNs: "0", inode: "1" };
const file = (sha256: string, mode = 0o644): KnownEntry => ({
  ...plain,
  type: "file",
  bytes: 1,
  sha256,
  mode,
});
const folder = (mode: number): KnownEntry => ({ ...plain, type: "folder", mode });

type Case = [string, KnownEntry | undefined, KnownEntry | undefined, Entry | undefined, string];

describe("how far a path has come", () => {
  it.each<Case>([
    ["a file not yet replaced", file("a"), file("b"), file("a"), "before"],
    ["a file replaced", file("a"), file("b"), file("b"), "after"],
    ["a file someone else wrote", file("a"), file("b"), file("c"), "foreign"],
    ["a file someone else deleted", file("a"), file("b"), undefined, "foreign"],
    ["a file deleted", file("a"), undefined, undefined, "after"],
    ["a file that is to be", undefined, file("a"), undefined, "before"],
    ["a file someone else changed the bits of", file("a"), file("b"), file("b", 0o600), "foreign"],
    ["a folder that gave way to a file to come", folder(0o755), file("a"), undefined, "between"],
    ["a file that gave way to a folder to come", file("a"), folder(0o755), undefined, "between"],
    ["a new folder that has not got its bits", undefined, folder(0o555), folder(0o700), "after"],
    ["a folder put back that has not got its bits", folder(0o555), undefined, folder(0o700), "after"],
    [
      "a folder put back where a file was, without its bits",
      folder(0o555),
      file("a"),
      folder(0o700),
      "between",
    ],
    ["a folder opened for the work", folder(0o555), folder(0o500), folder(0o755), "after"],
    ["a folder someone else changed the bits of", folder(0o755), folder(0o700), folder(0o711), "foreign"],
  ])("%s", (_, before, after, now, standing) => {
    const change = { path: "p", ...(before && { before }), ...(after && { after }) };
    expect(standingOf(change, now)).toBe(standing);
  });
});
