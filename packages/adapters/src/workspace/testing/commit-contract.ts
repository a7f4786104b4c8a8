import { lstat, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_DENIED, openWorkspaces } from "../index.ts";
import { type FileOp, perform } from "./file-ops.ts";
import { snapshot } from "./snapshot.ts";
import type { ViewWorker } from "./view-workers.ts";
import { inRoom } from "./workspace-room.ts";

const TREE: FileOp[] = [
  { do: "write", path: "a.txt", content: "a\n" },
  { do: "write", path: "b.txt", content: "b\n", mode: 0o640 },
  { do: "make folder", path: "d" },
  { do: "write", path: "d/c.txt", content: "c\n", mode: 0o444 },
  { do: "make folder", path: "d/e" },
  { do: "symlink", path: "l", target: "nowhere" },
];

const WORK: FileOp[] = [
  { do: "append", path: "a.txt", content: "more\n" },
  { do: "delete", path: "b.txt" },
  { do: "chmod", path: "d/c.txt", mode: 0o600 },
  { do: "delete tree", path: "d/e" },
  { do: "write", path: "d/e", content: "a file now\n" },
  { do: "make folder", path: "n" },
  { do: "make folder", path: "n/o" },
  { do: "write", path: "n/o/p.txt", content: "p\n", mode: 0o400 },
  { do: "chmod", path: "n/o", mode: 0o555 },
  { do: "delete", path: "l" },
  { do: "make folder", path: "l" },
];

/** All or nothing, and back again. */
export function commitContract(worker: ViewWorker): void {
  describe(`commit and rollback (${worker.name})`, () => {
    it("leave the workspace exactly as the call left its view [R1-4.3]", () =>
      inRoom(worker, TREE, async ({ root, base, begin, work, leftovers }) => {
        const reference = join(base, "reference");
        await mkdir(reference);
        for (const op of [...TREE, ...WORK]) await perform(reference, op);
        const call = begin();
        await work(call, ...WORK);
        expect(await call.apply()).toMatchObject({ ok: true });
        await call.keep();
        expect(await snapshot(root)).toEqual(await snapshot(reference));
        expect(await leftovers()).toEqual([]);
      }));

    it("take an applied call back with bytes, modes and times, and prove it [R1-7.2]", () =>
      inRoom(worker, TREE, async ({ root, begin, work, leftovers }) => {
        const before = await snapshot(root, { times: true });
        const folderTime = (await lstat(root)).mtimeMs;
        const call = begin();
        await work(call, ...WORK);
        const applied = await call.apply();
        expect(applied).toMatchObject({ ok: true });
        const back = await call.rollback();
        expect(back).toMatchObject({ verified: true, discarded: 8, left: [] });
        expect(back.hash).toMatch(/^[0-9a-f]{64}$/);
        expect(await snapshot(root, { times: true })).toEqual(before);
        expect((await lstat(root)).mtimeMs).toBeCloseTo(folderTime, 0);
        expect(await leftovers()).toEqual([]);
      }));

    it("drop staged changes and prove that nothing happened [R1-7.2]", () =>
      inRoom(worker, TREE, async ({ root, begin, work, leftovers }) => {
        const before = await snapshot(root, { times: true });
        const call = begin();
        await work(call, ...WORK);
        expect(await call.rollback()).toMatchObject({ verified: true, discarded: 8, left: [] });
        expect(await snapshot(root, { times: true })).toEqual(before);
        expect(await leftovers()).toEqual([]);
      }));

    it("do not take back what someone else changed after it was applied, and say so", () =>
      inRoom(worker, TREE, async ({ root, begin, work, others }) => {
        const call = begin();
        await work(call, ...WORK);
        expect(await call.apply()).toMatchObject({ ok: true });
        await others(
          { do: "append", path: "a.txt", content: "mine\n" },
          { do: "write", path: "n/o/mine.txt", content: "mine\n" },
          { do: "write", path: "b.txt", content: "mine\n" },
        );
        const { verified, left } = await call.rollback();
        expect(verified).toBe(false);
        expect(left.map(({ path }) => path)).toEqual(["a.txt", "b.txt", "n", "n/o"]);
        const now = await snapshot(root);
        expect(Object.keys(now).sort()).toEqual(
          ["a.txt", "b.txt", "d", "d/c.txt", "d/e", "l", "n", "n/o", "n/o/mine.txt"].sort(),
        );
        expect(now).toMatchObject({ "d/e": "folder 755", l: "link nowhere" });
      }));

    it("refuse what the rules deny, as a whole [E3105]", () =>
      inRoom(
        worker,
        [
          { do: "make folder", path: ".git" },
          { do: "make folder", path: ".git/hooks" },
          { do: "write", path: ".git/config", content: "[core]\n" },
        ],
        async ({ root, begin }) => {
          const before = await snapshot(root);
          const call = begin("call-1", { denied: DEFAULT_DENIED });
          await worker.work(call, [{ do: "write", path: "fine.txt", content: "x" }], { strict: true });
          const move = worker.work(call, [{ do: "move", path: ".git", to: "git" }], { strict: true });
          if (worker.name === "in process")
            await expect(move).rejects.toMatchObject({ failure: { code: "E3105" } });
          else {
            await move;
            const paths = [".git/config", ".git/hooks"];
            const denied = paths.map((path) => expect.objectContaining({ path }));
            expect(await call.apply()).toEqual({ ok: false, denied: expect.arrayContaining(denied) });
          }
          await call.rollback();
          expect(await snapshot(root)).toEqual(before);
        },
      ));

    it.each<[string, FileOp[], string]>([
      ["a nested .git file", [{ do: "write", path: "v/.git", content: "gitdir: ../evil\n" }], "v/.git"],
      ["a .git link", [{ do: "symlink", path: ".git", target: "v" }], ".git"],
      ["a nested .git folder", [{ do: "make folder", path: "v/.git" }], "v/.git"],
      ["a bare repository", [{ do: "write", path: "v/HEAD", content: "ref: refs/heads/x\n" }], "v/HEAD"],
    ])("refuse %s, which git would obey [D-15]", (_, ops, path) =>
      inRoom(worker, [{ do: "make folder", path: "v" }], async ({ root, begin, work }) => {
        const before = await snapshot(root);
        const call = begin();
        await work(call, ...ops);
        const { files } = await call.effects();
        const shown = files.find((file) => file.path === path);
        expect(shown?.note).toMatch(/^a commit is refused: it would be a repository/);
        const refused = await call.apply();
        expect(refused).toEqual({ ok: false, denied: [expect.objectContaining({ path })] });
        await call.rollback();
        expect(await snapshot(root)).toEqual(before);
      }),
    );

    it("leave an existing repository to git, except what it runs [D-15]", () =>
      inRoom(worker, [{ do: "make folder", path: ".git" }], async ({ begin, work }) => {
        const call = begin("call-1", { denied: DEFAULT_DENIED });
        await work(call, { do: "write", path: ".git/index", content: "x" });
        expect(await call.apply()).toMatchObject({ ok: true });
        await call.keep();
      }));

    it("show what common tools run as high risk, before any other change [D-15]", () =>
      inRoom(
        worker,
        [
          { do: "make folder", path: "node_modules" },
          { do: "make folder", path: "node_modules/.bin" },
        ],
        async ({ begin, work }) => {
          const call = begin();
          const many = Array.from(
            { length: 201 },
            (_, at): FileOp => ({ do: "write", path: `a${at}`, content: "" }),
          );
          await work(call, ...many, { do: "write", path: "node_modules/.bin/tsc", content: "#!/bin/sh\n" });
          const { files } = await call.effects();
          const shown = files.find(({ path }) => path === "node_modules/.bin/tsc");
          expect(shown?.note).toMatch(/^high risk/);
          await call.rollback();
        },
      ));

    it("change nothing in a workspace that may only be read", () =>
      inRoom(worker, TREE, async ({ root, begin, work }) => {
        const before = await snapshot(root);
        const call = begin("call-1", { writable: false });
        await work(call, { do: "write", path: "a.txt", content: "changed" });
        expect(await call.apply()).toMatchObject({ ok: false, denied: [{ path: "." }] });
        await call.rollback();
        expect(await snapshot(root)).toEqual(before);
      }));

    it.runIf(worker.full)("keep times that cannot be set as near as they can, and say so", () =>
      inRoom(worker, TREE, async ({ root, begin, work }) => {
        const before = await snapshot(root, { times: true });
        const call = begin();
        const odd = { old: -86_400, far: 8_900_000_000.5 };
        for (const [path, at] of Object.entries(odd))
          await work(call, { do: "write", path, content: path }, { do: "touch", path, at });
        await work(
          call,
          { do: "append", path: "a.txt", content: "x" },
          { do: "touch", path: "a.txt", at: -1 },
        );
        const { files } = await call.effects();
        expect(files.map(({ path, note }) => [path, note])).toEqual([
          ["a.txt", "its time, 1969-12-31, cannot be kept and becomes 1970-01-01"],
          ["far", "its time, 2252-01-12, cannot be kept and becomes 2242-03-16"],
          ["old", "its time, 1969-12-31, cannot be kept and becomes 1970-01-01"],
        ]);
        expect(await call.apply()).toMatchObject({ ok: true });
        expect((await lstat(join(root, "old"))).mtimeMs).toBeCloseTo(0, 2);
        await call.rollback();
        expect(await snapshot(root, { times: true })).toEqual(before);
      }),
    );

    it("refuse set-id bits, which would run code as the workspace's owner", () =>
      inRoom(worker, TREE, async ({ begin, work }) => {
        const call = begin();
        await work(call, { do: "chmod", path: "a.txt", mode: 0o4755 });
        expect(await call.apply()).toMatchObject({ ok: false, denied: [{ path: "a.txt" }] });
        await call.rollback();
      }));

    it("refuse more than the call may write [E3102]", () =>
      inRoom(worker, TREE, async ({ root, begin }) => {
        const before = await snapshot(root);
        const call = begin("call-1", { maxBytes: 5_000 });
        const big: FileOp = { do: "write", path: "big", content: "x".repeat(9_000) };
        const refusal = { failure: { code: "E3102", message: expect.stringContaining("5000") } };
        await expect(
          worker.work(call, [big], { strict: true }).then(() => call.apply()),
        ).rejects.toMatchObject(refusal);
        await call.rollback();
        expect(await snapshot(root)).toEqual(before);
      }));

    it("take everything back by themselves when the disk refuses midway", () =>
      inRoom(worker, TREE, async ({ root, base, reopen }) => {
        const before = await snapshot(root, { times: true });
        let steps = 0;
        const onStep = (next: string) => {
          if (next.startsWith("place") && ++steps === 2)
            throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
        };
        const workspaces = await openWorkspaces({ folder: join(base, "state"), view: worker.view, onStep });
        const call = workspaces.begin({
          callId: "full",
          rules: { root, writable: true, denied: [] },
          maxBytes: 1e6,
        });
        await worker.work(call, WORK, { strict: true });
        await expect(call.apply()).rejects.toMatchObject({
          failure: { code: "E3914", message: expect.stringContaining("ENOSPC") },
        });
        expect(await snapshot(root, { times: true })).toEqual(before);
        expect(await call.rollback()).toMatchObject({ verified: true });
        expect(await (await reopen()).undo("full")).toEqual({ ok: false, reason: "unknown" });
      }));

    it("follow nobody out of the workspace who swaps a folder for a link", () =>
      inRoom(worker, TREE, async ({ root, base, begin, work, others }) => {
        const call = begin();
        await work(call, { do: "write", path: "d/new.txt", content: "x" });
        await mkdir(join(base, "outside"));
        await others();
        await rename(join(root, "d"), join(base, "moved away"));
        await perform(root, { do: "symlink", path: "d", target: join(base, "outside") });
        const applied = await call.apply();
        expect(applied.ok).toBe(false);
        await call.rollback();
        expect(await snapshot(join(base, "outside"))).toEqual({});
      }));
  });
}
