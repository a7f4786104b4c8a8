import { execFileSync } from "node:child_process";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileOp } from "./testing/file-ops.ts";
import { inCopy, inOverlay, inProcess } from "./testing/view-workers.ts";
import { inRoom } from "./testing/workspace-room.ts";

const TREE: FileOp[] = [
  { do: "write", path: "a.txt", content: "a\n" },
  { do: "write", path: "plain.txt", content: "p\n" },
  { do: "make folder", path: "d" },
];

/** Access for one more user, none for the group: [tag, permissions, id] as the kernel keeps them. */
const ACCESS = [
  [0x01, 6, 0xffffffff],
  [0x02, 6, 1234],
  [0x04, 0, 0xffffffff],
  [0x10, 6, 0xffffffff],
  [0x20, 0, 0xffffffff],
] as const;

function accessList(): string {
  const bytes = Buffer.alloc(4 + 8 * ACCESS.length);
  bytes.writeUInt32LE(2);
  for (const [index, [tag, permissions, id]] of ACCESS.entries()) {
    bytes.writeUInt16LE(tag, 4 + 8 * index);
    bytes.writeUInt16LE(permissions, 6 + 8 * index);
    bytes.writeUInt32LE(id, 8 + 8 * index);
  }
  return bytes.toString("hex");
}

/** Node cannot. */
function python(...lines: string[]): string {
  return execFileSync("python3", ["-c", ["import os, sys", ...lines].join("\n")], {
    encoding: "utf8",
  }).trim();
}

function give(path: string): void {
  const list = `bytes.fromhex("${accessList()}")`;
  python(`os.setxattr(${JSON.stringify(path)}, "user.note", b"kept")`);
  python(`os.setxattr(${JSON.stringify(path)}, "system.posix_acl_access", ${list})`);
}

async function seen(path: string): Promise<string> {
  const file = JSON.stringify(path);
  const all = python(
    `print({name: os.getxattr(${file}, name).hex() for name in sorted(os.listxattr(${file}))})`,
  );
  return `${((await lstat(path)).mode & 0o777).toString(8)} ${all}`;
}

describe.each([inProcess, inCopy, inOverlay])("access lists and attributes ($name)", (worker) => {
  it("stay with a file that is edited or renamed, and come back with an undo", () =>
    inRoom(worker, TREE, async ({ root, begin, work, workspaces }) => {
      give(join(root, "a.txt"));
      const before = await seen(join(root, "a.txt"));
      expect(before).toMatch(/^660 .*posix_acl_access.*user\.note/);
      const edit = begin("edit");
      await work(edit, { do: "append", path: "a.txt", content: "more\n" });
      await work(edit, { do: "append", path: "plain.txt", content: "more\n" });
      expect(await edit.apply()).toMatchObject({ ok: true });
      await edit.keep();
      expect(await seen(join(root, "a.txt"))).toBe(before);
      expect(await seen(join(root, "plain.txt"))).toBe("644 {}");
      const move = begin("move");
      await work(move, { do: "move", path: "a.txt", to: "d/b.txt" });
      expect(await move.apply()).toMatchObject({ ok: true });
      await move.keep();
      expect(await seen(join(root, "d/b.txt"))).toBe(before);
      for (const call of ["move", "edit"]) expect(await workspaces.undo(call)).toMatchObject({ ok: true });
      expect(await seen(join(root, "a.txt"))).toBe(before);
    }));

  it("come with no file that is edited or renamed in a folder that gives new files an access list", () =>
    inRoom(worker, TREE, async ({ root, begin, work }) => {
      const list = `bytes.fromhex("${accessList()}")`;
      for (const folder of [root, join(root, "d")])
        python(`os.setxattr(${JSON.stringify(folder)}, "system.posix_acl_default", ${list})`);
      const call = begin();
      await work(
        call,
        { do: "append", path: "a.txt", content: "more\n" },
        { do: "move", path: "plain.txt", to: "d/plain.txt" },
      );
      expect(await call.apply()).toMatchObject({ ok: true });
      await call.keep();
      for (const path of ["a.txt", "d/plain.txt"]) expect(await seen(join(root, path))).toBe("644 {}");
    }));

  it("stay with other permission bits where the call sets those", () =>
    inRoom(worker, TREE, async ({ root, begin, work }) => {
      give(join(root, "a.txt"));
      const call = begin();
      await work(
        call,
        { do: "append", path: "a.txt", content: "x" },
        { do: "chmod", path: "a.txt", mode: 0o640 },
      );
      expect(await call.apply()).toMatchObject({ ok: true });
      await call.keep();
      expect(await seen(join(root, "a.txt"))).toMatch(/^640 .*posix_acl_access.*user\.note/);
    }));
});
