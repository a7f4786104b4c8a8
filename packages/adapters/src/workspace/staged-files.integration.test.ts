import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FileStaging } from "@sallyport/engine/ports";
import { describe, expect, it } from "vitest";
import type { FileOp } from "./testing/file-ops.ts";
import { snapshot } from "./testing/snapshot.ts";
import { inProcess } from "./testing/view-workers.ts";
import { inRoom } from "./testing/workspace-room.ts";

const TREE: FileOp[] = [
  { do: "write", path: "a.txt", content: "a\n" },
  { do: "make folder", path: "d" },
  { do: "write", path: "d/b.txt", content: "b\n" },
  { do: "write", path: "d/secret.env", content: "s\n" },
  { do: "symlink", path: "in", target: "d/b.txt" },
  { do: "symlink", path: "folder-in", target: "d" },
  { do: "symlink", path: "out", target: "/etc/passwd" },
  { do: "symlink", path: "up", target: "../outside" },
  { do: "symlink", path: "loop", target: "loop" },
  { do: "symlink", path: "to-secret", target: "d/secret.env" },
];
const FORBIDDEN = { failure: { code: "E3105" } };

describe("files in this process", () => {
  it("are read with what was staged, and written nowhere else", () =>
    inRoom(inProcess, TREE, async ({ root, begin }) => {
      const before = await snapshot(root, { times: true });
      const { files } = begin();
      await files.write("a.txt", "changed\n");
      await files.write("d/new.txt", Buffer.from([0, 255]));
      await files.remove("d/b.txt");
      await files.rename("d", "e");
      expect((await files.read("a.txt")).toString()).toBe("changed\n");
      expect(await files.read("e/new.txt")).toEqual(Buffer.from([0, 255]));
      expect((await files.read("e/secret.env")).toString()).toBe("s\n");
      expect((await files.list("e")).map(({ name }) => name)).toEqual(["new.txt", "secret.env"]);
      expect(await files.stat("d")).toBeUndefined();
      await expect(files.read("d/b.txt")).rejects.toMatchObject({ code: "ENOENT" });
      expect(await snapshot(root, { times: true })).toEqual(before);
    }));

  it("are listed with names, types, sizes and modes, sorted", () =>
    inRoom(inProcess, TREE, async ({ begin }) => {
      const { files } = begin();
      await files.makeFolder("d/folder");
      await files.link("d/link", "b.txt");
      await files.setMode("d/b.txt", 0o600);
      const list = await files.list("d");
      expect(list.map(({ name, type, mode }) => [name, type, mode])).toEqual([
        ["b.txt", "file", 0o600],
        ["folder", "folder", 0o755],
        ["link", "symlink", 0o777],
        ["secret.env", "file", 0o644],
      ]);
      expect(list[0]).toMatchObject({ bytes: 2, modifiedAt: expect.any(Number) });
      expect((await files.list(".")).length).toBe(TREE.length - 2);
    }));

  it.each(["/etc/passwd", "../x", "d/../../x", "a\0b", "out", "up", "up/x", "out/x"])(
    "are refused outside the workspace: %j [E3105]",
    (path) =>
      inRoom(inProcess, TREE, async ({ base, begin }) => {
        await mkdir(join(base, "outside"));
        await writeFile(join(base, "outside", "x"), "outside");
        const { files } = begin();
        await expect(files.read(path)).rejects.toMatchObject(FORBIDDEN);
        await expect(files.write(path, "x")).rejects.toMatchObject(FORBIDDEN);
        await expect(files.setMode(path, 0o777)).rejects.toMatchObject(FORBIDDEN);
        if (path !== "out" && path !== "up")
          await expect(files.remove(path)).rejects.toMatchObject(FORBIDDEN);
      }),
  );

  it("are followed through links that stay inside, absolute ones too, and not around in circles", () =>
    inRoom(inProcess, TREE, async ({ root, begin }) => {
      await symlink(join(root, "d"), join(root, "absolute"));
      const { files } = begin();
      expect((await files.read("in")).toString()).toBe("b\n");
      expect((await files.read("absolute/b.txt")).toString()).toBe("b\n");
      await files.write("folder-in/c.txt", "c");
      expect((await files.read("d/c.txt")).toString()).toBe("c");
      await files.link("staged-out", "../outside");
      await expect(files.read("staged-out/x")).rejects.toMatchObject(FORBIDDEN);
      await expect(files.read("loop")).rejects.toMatchObject({ code: "ELOOP" });
      expect(await files.stat("out")).toMatchObject({ type: "symlink" });
    }));

  it("are neither shown nor changed when denied, under whatever name [E3105]", () =>
    inRoom(inProcess, TREE, async ({ begin }) => {
      const { files } = begin("call-1", { denied: ["**/*.env"] });
      for (const path of ["d/secret.env", "folder-in/secret.env", "to-secret", "new.env"]) {
        await expect(files.read(path)).rejects.toMatchObject(FORBIDDEN);
        await expect(files.write(path, "x")).rejects.toMatchObject(FORBIDDEN);
      }
      expect((await files.list("d")).map(({ name }) => name)).toEqual(["b.txt"]);
      await expect(files.remove("d", { recursive: true })).rejects.toMatchObject(FORBIDDEN);
      await expect(files.rename("d", "e")).rejects.toMatchObject(FORBIDDEN);
      await expect(files.rename("a.txt", "a.env")).rejects.toMatchObject(FORBIDDEN);
    }));

  it("are not read through a folder that was swapped for a link", () =>
    inRoom(inProcess, TREE, async ({ root, base, begin }) => {
      await mkdir(join(base, "outside"));
      await writeFile(join(base, "outside", "b.txt"), "outside");
      const { files } = begin();
      await files.read("d/b.txt");
      await rename(join(root, "d"), join(root, "was-d"));
      await symlink(join(base, "outside"), join(root, "d"));
      await expect(files.read("d/b.txt")).rejects.toMatchObject(FORBIDDEN);
    }));

  it("behave as the system's do", () =>
    inRoom(inProcess, TREE, async ({ begin }) => {
      const { files } = begin();
      await expect(files.write("no/such.txt", "x")).rejects.toMatchObject({ code: "ENOENT" });
      await expect(files.write("a.txt/x", "x")).rejects.toMatchObject({ code: "ENOTDIR" });
      await expect(files.write("d", "x")).rejects.toMatchObject({ code: "EISDIR" });
      await expect(files.read("d")).rejects.toMatchObject({ code: "EISDIR" });
      await expect(files.remove("d")).rejects.toMatchObject({ code: "ENOTEMPTY" });
      await expect(files.makeFolder("a.txt")).rejects.toMatchObject({ code: "EEXIST" });
      await expect(files.rename("d", "d/e")).rejects.toMatchObject({ code: "EINVAL" });
      await expect(files.rename("a.txt", "d")).rejects.toMatchObject({ code: "EISDIR" });
      await expect(files.rename("d", "a.txt")).rejects.toMatchObject({ code: "ENOTDIR" });
      await expect(files.list("a.txt")).rejects.toMatchObject({ code: "ENOTDIR" });
      await files.rename("a.txt", "a.txt");
    }));

  it("keep their order when they are used all at once", () =>
    inRoom(inProcess, TREE, async ({ begin }) => {
      const call = begin();
      await call.files.makeFolder("n");
      await Promise.all(
        Array.from({ length: 40 }, (_, index) => call.files.write(`n/${index % 20}`, `${index}`)),
      );
      expect((await call.files.list("n")).length).toBe(20);
      expect((await call.files.read("n/7")).toString()).toBe("27");
    }));

  it("that were read before someone else edited them are a conflict when written", () =>
    inRoom(inProcess, TREE, async ({ begin, others }) => {
      const call = begin();
      const seen = await call.files.read("a.txt");
      await others({ do: "append", path: "a.txt", content: "theirs\n" });
      await call.files.write("a.txt", `${seen}mine\n`);
      expect(await call.apply()).toMatchObject({ ok: false, conflicts: [{ path: "a.txt" }] });
    }));

  it("keep what was accepted when a later write is refused for its size [E3102]", () =>
    inRoom(inProcess, TREE, async ({ begin }) => {
      const call = begin("call-1", { maxBytes: 100 });
      await call.files.write("a.txt", "x".repeat(60));
      const refused = { failure: { code: "E3102" } };
      await expect(call.files.write("a.txt", "y".repeat(101))).rejects.toMatchObject(refused);
      await expect(call.files.write("b.txt", "y".repeat(41))).rejects.toMatchObject(refused);
      expect((await call.files.read("a.txt")).toString()).toBe("x".repeat(60));
      expect(await call.apply()).toMatchObject({ ok: true, effects: { files: [{ path: "a.txt" }] } });
      await call.keep();
    }));

  it.each([
    ["removed", async ({ files }) => files.remove("t")],
    [
      "removed with its folder",
      async ({ files }) => {
        await files.makeFolder("f");
        await files.rename("t", "f/t");
        await files.remove("f", { recursive: true });
      },
    ],
    [
      "replaced by a rename",
      async ({ files }) => {
        await files.write("u", "u");
        await files.rename("u", "t");
        await files.remove("t");
      },
    ],
    ["written again", async ({ files }) => files.write("t", "")],
  ] as [string, (call: FileStaging) => Promise<void>][])(
    "give room back when a staged file is %s",
    (_, drop) =>
      inRoom(inProcess, TREE, async ({ begin }) => {
        const call = begin("call-1", { maxBytes: 100 });
        for (let turn = 0; turn < 5; turn += 1) {
          await call.files.write("t", "x".repeat(60));
          await drop(call);
        }
        await call.rollback();
      }),
  );
});
