import { describe, expect, it } from "vitest";
import type { FoundName } from "./folder-reader.ts";
import { type ListArguments, listArguments } from "./list-arguments.ts";
import { listingText, tidyPath } from "./listing-text.ts";
import { DEFAULT_BUILTIN_LIMITS } from "./options.ts";
import { walkFolder } from "./walk-folder.ts";

const file = (name: string): FoundName => ({
  name,
  entry: { type: "file", bytes: 1, modifiedAt: 2 },
  reachable: true,
});
const folder = (name: string): FoundName => ({
  name,
  entry: { type: "folder", bytes: 0, modifiedAt: 2 },
  reachable: true,
});

/** Folders by path; an error is what reading one ends in. */
type Tree = Record<string, FoundName[] | Error>;

function walk(tree: Tree, changes: Partial<ListArguments> = {}) {
  const wanted = {
    ...listArguments({ path: ".", recursive: true }, DEFAULT_BUILTIN_LIMITS.list),
    ...changes,
  };
  const read = async (path: string) => {
    const found = tree[path];
    if (!found) throw new Error(`nobody should have read ${path}`);
    if (found instanceof Error) throw found;
    return found;
  };
  const { signal } = new AbortController();
  return walkFolder({ read, from: ".", wanted, isDenied: () => false, signal });
}

const systemError = (code: string) => Object.assign(new Error(code), { code });

describe("a walk through folders", () => {
  it("makes an entry of what cannot be looked at, and goes on [T-LD-10]", async () => {
    const { entries } = await walk({ ".": [{ name: "lost", reachable: true }, file("z")] }, { files: false });
    expect(entries).toEqual([
      {
        name: "lost",
        path: "lost",
        depth: 1,
        type: "unknown",
        size_bytes: null,
        modified_epoch_ms: null,
        is_hidden: false,
        error_code: "metadata_unavailable",
        error: "cannot look at the entry",
      },
    ]);
  });

  it.each([
    ["EACCES", "permission_denied"],
    ["EIO", "io_error"],
    ["EMFILE", "read_dir_failed"],
  ])("makes an entry of a folder that answers %s, and goes on [T-LD-12]", async (code, error_code) => {
    const { entries } = await walk({ ".": [folder("a"), file("b")], a: systemError(code) });
    expect(entries.map(({ path, type, error_code }) => [path, type, error_code])).toEqual([
      ["a", "unknown", error_code],
      ["b", "file", null],
    ]);
  });

  it("fails when the folder itself cannot be read [T-LD-12]", async () => {
    await expect(walk({ ".": systemError("EACCES") })).rejects.toThrow("EACCES");
  });

  it("reads nothing below a full listing but what tells whether there is more [T-LD-05]", async () => {
    const tree = { ".": [folder("a"), folder("b")], a: [file("x")], b: [file("y")] };
    const full = await walk(tree, { maxEntries: 2, dirs: false });
    expect(full).toMatchObject({ isCut: false, entries: [{ path: "a/x" }, { path: "b/y" }] });
    expect(await walk({ ...tree, b: [] }, { maxEntries: 2 })).toMatchObject({ isCut: true });
    expect(await walk({ ".": [folder("a")], a: [] }, { maxEntries: 1 })).toMatchObject({ isCut: false });
  });

  it("stops when the call is cancelled", async () => {
    const wanted = listArguments({ path: "." }, DEFAULT_BUILTIN_LIMITS.list);
    const order = { read: async () => [file("a")], from: ".", wanted, isDenied: () => false };
    await expect(walkFolder({ ...order, signal: AbortSignal.abort() })).rejects.toThrow();
  });
});

describe("a listing's text", () => {
  it("fits, whatever the room, or is none [T-LD-06] [T-LD-13] [T-LD-14]", async () => {
    const names = Array.from({ length: 20 }, (_, index) => file(`${"ü".repeat(index)}-${index}`));
    const walked = await walk({ ".": names }, { maxEntries: 10 });
    expect(walked.isCut).toBe(true);
    const frame = { path: ".", maxEntries: 10 };
    const whole = listingText(walked, frame, 1e6) ?? "";
    expect(JSON.parse(whole)).toMatchObject({ returned: 10, truncated_reason: "max_entries" });
    let [last, longest] = [-1, Buffer.byteLength(whole)];
    for (let room = 0; room < longest; room += 1) {
      const text = listingText(walked, frame, room);
      if (text === undefined) continue;
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(room);
      const { returned, truncated_reason } = JSON.parse(text);
      // Both cuts apply: the one by size is named.
      expect(truncated_reason).toBe("max_output_bytes");
      expect(returned).toBeGreaterThanOrEqual(Math.max(0, last));
      last = returned;
    }
    expect(last).toBe(9);
    expect(listingText(walked, frame, longest)).toBe(whole);
    longest = 0;
  });

  it.each([
    [" ./a//b/./c/ ", "a/b/c"],
    [".", "."],
    ["./", "."],
    ["/", "/"],
    ["/A//b/", "/A/b"],
    ["a\\b", "a\\b"],
  ])("tidies %j to %j [T-LD-01]", (asked, tidy) => {
    expect(tidyPath(asked, "linux")).toBe(tidy);
  });

  it("has slashes on Windows too [T-LD-01]", () => {
    expect(tidyPath(".\\a\\b\\", "win32")).toBe("a/b");
  });
});
