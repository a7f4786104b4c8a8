import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileOp } from "./file-ops.ts";
import { snapshot } from "./snapshot.ts";
import type { ViewWorker } from "./view-workers.ts";
import { inRoom } from "./workspace-room.ts";

const TREE: FileOp[] = [
  { do: "write", path: "edit.txt", content: "one\ntwo\nthree\n" },
  { do: "write", path: "gone.txt", content: "goodbye\n" },
  { do: "write", path: "old name.txt", content: "the same words\n" },
  { do: "write", path: "script.sh", content: "#!/bin/sh\n" },
  { do: "make folder", path: "folder" },
  { do: "write", path: "folder/in.txt", content: "inside\n" },
  { do: "make folder", path: "folder/deep" },
  { do: "write", path: "folder/deep/er.txt", content: "deeper\n" },
  { do: "make folder", path: "empty" },
  { do: "symlink", path: "link", target: "edit.txt" },
];

/** What counts as a change, and how it is shown. */
export function changesContract(worker: ViewWorker): void {
  describe(`effects (${worker.name})`, () => {
    it("list every change once, and nothing is real before it is applied [R1-4.3]", () =>
      inRoom(worker, TREE, async ({ root, begin, work }) => {
        const before = await snapshot(root, { times: true });
        const call = begin();
        await work(
          call,
          { do: "append", path: "edit.txt", content: "four\n" },
          { do: "delete", path: "gone.txt" },
          { do: "move", path: "old name.txt", to: "new\nnäme.txt" },
          { do: "chmod", path: "script.sh", mode: 0o755 },
          { do: "make folder", path: "fresh" },
          { do: "write", path: "fresh/a.txt", content: "a\n", mode: 0o600 },
          { do: "remove folder", path: "empty" },
          { do: "delete", path: "link" },
          { do: "symlink", path: "link", target: "fresh/a.txt" },
        );
        const { files, omitted, diffsCut } = await call.effects();
        expect(files.map(({ path, change }) => `${change} ${path}`)).toEqual([
          "edited edit.txt",
          "deleted empty",
          "added fresh",
          "added fresh/a.txt",
          "deleted gone.txt",
          "edited link",
          "renamed new\nnäme.txt",
          "mode script.sh",
        ]);
        expect({ omitted, diffsCut }).toEqual({ omitted: 0, diffsCut: false });
        expect(files[0]?.diff).toContain("+four\n");
        expect(files[3]?.after).toMatchObject({ type: "file", mode: 0o600, bytes: 2 });
        expect(files[5]).toMatchObject({ before: { target: "edit.txt" }, after: { target: "fresh/a.txt" } });
        expect(files[6]).toMatchObject({ from: "old name.txt", after: { sha256: files[6]?.before?.sha256 } });
        expect(await snapshot(root, { times: true })).toEqual(before);
        await call.rollback();
      }));

    it("are none for what was rewritten as it was, or came and went", () =>
      inRoom(worker, TREE, async ({ begin, work }) => {
        const call = begin();
        await work(
          call,
          { do: "write", path: "edit.txt", content: "one\ntwo\nthree\n" },
          { do: "chmod", path: "script.sh", mode: 0o700 },
          { do: "chmod", path: "script.sh", mode: 0o644 },
          { do: "write", path: "passing", content: "x" },
          { do: "delete", path: "passing" },
          { do: "move", path: "folder/in.txt", to: "folder/out.txt" },
          { do: "move", path: "folder/out.txt", to: "folder/in.txt" },
          { do: "delete", path: "link" },
          { do: "symlink", path: "link", target: "edit.txt" },
        );
        expect((await call.effects()).files).toEqual([]);
        expect(await call.apply()).toMatchObject({ ok: true, effects: { files: [] } });
        await call.keep();
      }));

    it("name what became something else, with all that was in it", () =>
      inRoom(worker, TREE, async ({ begin, work }) => {
        const call = begin();
        await work(
          call,
          { do: "delete tree", path: "folder" },
          { do: "write", path: "folder", content: "a file now\n" },
          { do: "delete", path: "gone.txt" },
          { do: "make folder", path: "gone.txt" },
          { do: "write", path: "gone.txt/x", content: "x" },
          { do: "delete", path: "script.sh" },
          { do: "symlink", path: "script.sh", target: "gone.txt/x" },
        );
        const { files } = await call.effects();
        expect(files.map(({ path, change }) => `${change} ${path}`)).toEqual([
          "replaced folder",
          "deleted folder/deep",
          "deleted folder/deep/er.txt",
          "deleted folder/in.txt",
          "replaced gone.txt",
          "added gone.txt/x",
          "replaced script.sh",
        ]);
        await call.rollback();
      }));

    it("of a folder that was deleted and made anew are what is gone and what is new in it", () =>
      inRoom(worker, TREE, async ({ begin, work }) => {
        const call = begin();
        await work(
          call,
          { do: "delete tree", path: "folder" },
          { do: "make folder", path: "folder" },
          { do: "make folder", path: "folder/deep" },
          { do: "write", path: "folder/in.txt", content: "inside\n" },
        );
        const { files } = await call.effects();
        expect(files.map(({ path, change }) => `${change} ${path}`)).toEqual(["deleted folder/deep/er.txt"]);
        await call.rollback();
      }));

    it("show no secrets, no bytes that are no text, and no more than fits", () =>
      inRoom(
        worker,
        [{ do: "write", path: "long.txt", content: "line\n".repeat(10) }],
        async ({ begin, work }) => {
          const call = begin();
          const key = `AKIA${"IOSFODNN7EXAMPLQ"}`;
          await work(
            call,
            { do: "write", path: "key.env", content: `aws_access_key_id=${key}\n` },
            { do: "write", path: "blob.bin", content: "a\0b" },
            { do: "write", path: "long.txt", content: "other line\n".repeat(400) },
            { do: "write", path: "zero", content: "" },
          );
          const { files, diffsCut } = await call.effects();
          const byPath = new Map(files.map((file) => [file.path, file]));
          expect(JSON.stringify(files)).not.toContain(key);
          expect(byPath.get("key.env")?.diff).toContain("+++ b/key.env");
          expect(byPath.get("blob.bin")).toMatchObject({ after: { bytes: 3 } });
          expect(byPath.get("blob.bin")?.diff).toBeUndefined();
          expect(byPath.get("long.txt")?.diff?.length).toBeLessThanOrEqual(1_000);
          expect(byPath.get("long.txt")?.note).toBe("the diff is cut");
          expect(diffsCut).toBe(true);
          await call.rollback();
        },
        { bounds: { diffBytes: 1_000 } },
      ));

    it("beyond the record's room are counted and part of the digest", () =>
      inRoom(worker, [], async ({ begin, work }) => {
        const names = Array.from({ length: 250 }, (_, index) => `f${String(index).padStart(3, "0")}`);
        const digests: string[] = [];
        for (const last of ["x", "y"]) {
          const call = begin();
          await work(
            call,
            ...names.map((path): FileOp => ({ do: "write", path, content: path === "f249" ? last : path })),
          );
          const { files, omitted, digest } = await call.effects();
          expect({ listed: files.length, omitted }).toEqual({ listed: 200, omitted: 50 });
          digests.push(digest);
          await call.rollback();
        }
        expect(digests[0]).not.toBe(digests[1]);
      }));

    if (worker.full) fullContract(worker);
  });
}

function fullContract(worker: ViewWorker): void {
  it("keep hard links that the call made, and say which a change cut", () =>
    inRoom(
      worker,
      [...TREE, { do: "hard link", path: "edit.txt", to: "twin.txt" }],
      async ({ root, begin, work }) => {
        const call = begin();
        await work(
          call,
          { do: "append", path: "twin.txt", content: "only here\n" },
          { do: "hard link", path: "gone.txt", to: "gone too.txt" },
          { do: "write", path: "p", content: "p\n" },
          { do: "hard link", path: "p", to: "folder/q" },
        );
        const committed = await call.apply();
        if (!committed.ok) throw new Error(JSON.stringify(committed));
        const notes = Object.fromEntries(committed.effects.files.map(({ path, note }) => [path, note]));
        expect(notes).toEqual({
          "folder/q": undefined,
          "gone too.txt": "another name (hard link) of gone.txt",
          p: "another name (hard link) of folder/q",
          "twin.txt": "it had other names (hard links), which keep the old content",
        });
        const inode = async (path: string) => (await lstat(join(root, path))).ino;
        expect(await inode("gone too.txt")).toBe(await inode("gone.txt"));
        expect(await inode("folder/q")).toBe(await inode("p"));
        expect(await readFile(join(root, "edit.txt"), "utf8")).toBe("one\ntwo\nthree\n");
        expect(await readFile(join(root, "twin.txt"), "utf8")).toContain("only here");
        expect(await call.rollback()).toMatchObject({ verified: true });
        expect(await inode("twin.txt")).toBe(await inode("edit.txt"));
      },
    ));

  it("keep the holes of sparse files", () =>
    inRoom(worker, [], async ({ root, begin, work }) => {
      const call = begin("call-1", { maxBytes: 1_000_000 });
      await work(call, { do: "sparse", path: "sparse", bytes: 64 * 1024 * 1024 });
      expect(await call.apply()).toMatchObject({ ok: true });
      const { size, blocks } = await lstat(join(root, "sparse"));
      expect(size).toBe(64 * 1024 * 1024);
      expect(blocks * 512).toBeLessThan(1024 * 1024);
      await call.keep();
    }));

  it("refuse pipes and other things that are neither file, folder nor link [E3105]", () =>
    inRoom(worker, TREE, async ({ root, begin, work }) => {
      const before = await snapshot(root);
      const call = begin();
      await work(call, { do: "fifo", path: "pipe" }, { do: "write", path: "beside", content: "x" });
      expect(await call.apply()).toMatchObject({ ok: false, denied: [{ path: "pipe" }] });
      expect(await call.rollback()).toMatchObject({ verified: true, discarded: 1 });
      expect(await snapshot(root)).toEqual(before);
    }));
}
