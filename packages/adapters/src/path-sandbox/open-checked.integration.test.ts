import {
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, lstat, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Failure, isFailure } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { placeOf } from "./containment.ts";
import { type HostileTree, OUTSIDE, plantHostileTree } from "./fixtures/hostile-tree.ts";
import { type CheckedPath, openPathSandbox, type PathSandbox } from "./index.ts";
import { isSame, standsAt } from "./open-path-sandbox.ts";

let tree: HostileTree;
let sandbox: PathSandbox;
beforeEach(() => {
  tree = plantHostileTree();
  sandbox = openPathSandbox({ roots: [tree.root] });
});
afterEach(() => tree.remove());

async function checked(path: string): Promise<CheckedPath> {
  const answer = await sandbox.check(path);
  if (isFailure(answer)) throw new Error(answer.message);
  return answer;
}

async function read(opened: FileHandle | Failure): Promise<string> {
  if (isFailure(opened)) return opened.code;
  try {
    return await opened.readFile("utf8");
  } finally {
    await opened.close();
  }
}

/** Open files of this process that are in the tree. */
function openThere(): number {
  return readdirSync("/proc/self/fd").filter((fd) => leadsTo(`/proc/self/fd/${fd}`).startsWith(tree.base))
    .length;
}

function leadsTo(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}

describe("opening what was checked", () => {
  it("gives the content, through links that were resolved by the check [FR-VAL-06]", async () => {
    expect(await read(await sandbox.openChecked(await checked("in-chain-1")))).toBe(
      "inside: root/src/app.ts",
    );
    const folding = openPathSandbox({ roots: [tree.root], caseInsensitive: true });
    expect(await read(await folding.openChecked(await checked("readme.md")))).toBe("inside: root/readme.md");
  });

  it("opens regular files only, and a pipe does not make it wait [FR-VAL-06]", {
    timeout: 60_000,
  }, async () => {
    for (const [path, why] of [
      ["pipe", "is a pipe"],
      ["to-pipe", "is a pipe"],
      ["src", "is a folder"],
      [".", "is a folder"],
      ["nowhere", "does not exist"],
    ] as const) {
      const answer = await sandbox.openChecked(await checked(path));
      expect(isFailure(answer) && answer.code, path).toBe("E3907");
      expect(isFailure(answer) && answer.message, path).toContain(why);
    }
  });

  it("refuses what was swapped since, and leaves nothing open [FR-VAL-06] [NFR-SEC-02]", async () => {
    const file = await checked("src/app.ts");
    renameSync(join(tree.root, "src"), join(tree.root, "moved"));
    symlinkSync(tree.outside, join(tree.root, "src"));
    writeFileSync(join(tree.outside, "app.ts"), OUTSIDE);
    expect(await read(await sandbox.openChecked(file))).toBe("E3955");
    rmSync(join(tree.root, "src"));
    symlinkSync("moved", join(tree.root, "src"));
    expect(await read(await sandbox.openChecked(file))).toBe("E3955");
    expect(openThere()).toBe(0);
  });
});

describe("the proof after the open", () => {
  it.each([false, true])("knows the file by its place, by name: %s [FR-VAL-06]", async (byName) => {
    const path = join(tree.root, "readme.md");
    const handle = await open(path);
    const other = await open(join(tree.outside, "secret.txt"));
    const folder = await open(tree.root);
    try {
      expect(await isSame(handle, { path, byName })).toBe(true);
      expect(await isSame(other, { path, byName })).toBe(false);
      expect(await isSame(folder, { path: tree.root, byName })).toBe(false);
      renameSync(path, `${path}.old`);
      writeFileSync(path, "another");
      expect(await isSame(handle, { path, byName })).toBe(false);
    } finally {
      await Promise.all([handle.close(), other.close(), folder.close()]);
    }
  });

  it("by names takes no link on the way for a folder [FR-VAL-06] [NFR-SEC-02]", async () => {
    const handle = await open(join(tree.outside, "secret.txt"));
    try {
      expect(await standsAt(handle, join(tree.outside, "secret.txt"))).toBe(true);
      expect(await standsAt(handle, join(tree.root, "out-folder/secret.txt"))).toBe(false);
      expect(await standsAt(handle, join(tree.root, "out-file"))).toBe(false);
    } finally {
      await handle.close();
    }
  });
});

describe("a root in another case", () => {
  it("is the root only when it is the same folder [FR-VAL-04]", async () => {
    const roots = [{ path: tree.root, foldsCase: true }];
    expect(await placeOf(join(tree.base, "ROOT/secret.txt"), roots)).toBeUndefined();
    rmSync(join(tree.base, "ROOT"), { recursive: true });
    expect(await placeOf(join(tree.base, "ROOT/x"), roots)).toBeUndefined();
    // Stands in for a system that takes both for one: the other name leads to the same folder.
    symlinkSync("root", join(tree.base, "ROOT"));
    expect((await lstat(join(tree.base, "ROOT"))).isSymbolicLink()).toBe(true);
    expect((await stat(join(tree.base, "ROOT"))).ino).toBe((await stat(tree.root)).ino);
    expect(await placeOf(join(tree.base, "ROOT/x"), roots)).toMatchObject({
      path: join(tree.root, "x"),
      relative: "x",
    });
    expect(await placeOf(join(tree.base, "ROOT/x"), [{ path: tree.root, foldsCase: false }])).toBeUndefined();
  });

  it("is found out without creating anything [FR-VAL-04]", async () => {
    const { foldsCase } = await import("./case-folding.ts");
    const empty = join(tree.base, "123");
    mkdirSync(empty);
    expect(foldsCase(empty)).toBe(process.platform !== "linux");
    expect(readdirSync(empty)).toEqual([]);
    expect(foldsCase(tree.root)).toBe(process.platform !== "linux");
    symlinkSync("x", join(empty, "a"));
    expect(foldsCase(empty)).toBe(process.platform !== "linux");
  });
});
