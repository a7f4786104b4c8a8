import { existsSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failureOf, inHouse } from "./fixtures/built-house.ts";

const FILES = { "d/a": "one\n", ".ssh/a": "a key of somebody\n", "f.txt": "mine\n" };

/** Puts a link to a denied folder, or to a denied file, in the place of one that was allowed. */
const SWAPS: [string, (root: string) => void][] = [
  [
    "a folder on the way",
    (root) => {
      if (!existsSync(join(root, "away"))) renameSync(join(root, "d"), join(root, "away"));
      rmSync(join(root, "d"), { force: true });
      symlinkSync(".ssh", join(root, "d"));
    },
  ],
  [
    "the file itself",
    (root) => {
      rmSync(join(root, "d", "a"), { force: true });
      symlinkSync("../.ssh/a", join(root, "d", "a"));
    },
  ],
];

describe.each(SWAPS)("somebody who swaps %s for a link after the check", (_what, swap) => {
  it("does not get it read [FR-VAL-06] [FR-TOOL-READ-01]", () =>
    inHouse({ files: FILES, afterCheck: swap }, async ({ call }) => {
      const failed = failureOf(await call("read_file", { path: "d/a" }));
      expect(JSON.stringify(failed)).not.toContain("a key");
    }));

  it("does not get it patched [FR-VAL-06] [FR-TOOL-PATCH-01]", () => {
    let armed = false;
    const afterCheck = (root: string) => {
      if (armed) swap(root);
    };
    return inHouse({ files: FILES, afterCheck }, async ({ call, text }) => {
      await call("read_file", { path: "d/a" });
      armed = true;
      failureOf(await call("apply_patch", { patch: "LP1\nF d/a\nT\nx\n.\nF f.txt\nEND\n" }));
      expect(text(".ssh/a")).toBe(FILES[".ssh/a"]);
    });
  });
});

describe("somebody who swaps a folder for a link after the check", () => {
  const swap = SWAPS[0]?.[1] ?? (() => undefined);

  it("does not get a file made or the folder listed elsewhere [FR-VAL-06]", () =>
    inHouse({ files: FILES, afterCheck: swap }, async ({ call, root }) => {
      failureOf(await call("write_file", { path: "d/new", content: "x" }));
      expect(existsSync(join(root, ".ssh", "new"))).toBe(false);
    }).then(() =>
      inHouse({ files: FILES, afterCheck: swap }, async ({ call }) => {
        const failed = failureOf(await call("list_directory", { path: "d" }));
        expect(failed.code).toMatch(/^E39(07|55|56)$/);
      }),
    ));
});
