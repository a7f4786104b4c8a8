import { describe, expect, it } from "vitest";
import type { FileOp } from "./file-ops.ts";
import { snapshot } from "./snapshot.ts";
import type { ViewWorker } from "./view-workers.ts";
import { inRoom, type Room } from "./workspace-room.ts";

const TREE: FileOp[] = [
  { do: "write", path: "a.txt", content: "a\n" },
  { do: "make folder", path: "d" },
  { do: "write", path: "d/b.txt", content: "b\n", mode: 0o444 },
  { do: "write", path: "c.txt", content: "c\n" },
];
const WORK: FileOp[] = [
  { do: "append", path: "a.txt", content: "more\n" },
  { do: "delete tree", path: "d" },
  { do: "chmod", path: "c.txt", mode: 0o600 },
  { do: "make folder", path: "n" },
  { do: "write", path: "n/x.txt", content: "x\n" },
];

const DEEP: FileOp[] = [
  ...TREE,
  { do: "make folder", path: "d/e" },
  { do: "make folder", path: "d/e/f" },
  { do: "write", path: "d/e/f/g.txt", content: "g\n" },
  { do: "make folder", path: "s" },
  { do: "write", path: "s/t.txt", content: "t\n" },
  ...["d/e/f", "d/e", "d", "s"].map(
    (path, index) => ({ do: "touch", path, at: 1_600_000_000 + index }) as const,
  ),
];
const CALLS: FileOp[][] = [
  [
    { do: "append", path: "d/e/f/g.txt", content: "more\n" },
    { do: "write", path: "d/e/new.txt", content: "new\n" },
    { do: "chmod", path: "s/t.txt", mode: 0o600 },
  ],
  [
    { do: "write", path: "d/e/f/h.txt", content: "h\n" },
    { do: "delete", path: "d/b.txt" },
    { do: "chmod", path: "s", mode: 0o750 },
    { do: "write", path: "s/u.txt", content: "u\n" },
  ],
  [
    { do: "delete tree", path: "d" },
    { do: "chmod", path: "s", mode: 0o700 },
  ],
];

async function kept({ begin, work }: Room): Promise<void> {
  const call = begin();
  await work(call, ...WORK);
  expect(await call.apply()).toMatchObject({ ok: true });
  await call.keep();
}

/** A call that is taken back after it was done. */
export function undoContract(worker: ViewWorker): void {
  describe(`undo (${worker.name})`, () => {
    it("restores bytes, modes and times later, in another process too, once", () =>
      inRoom(worker, TREE, async (room) => {
        const before = await snapshot(room.root, { times: true });
        await kept(room);
        const later = await room.reopen();
        expect(await later.recover(async () => true)).toEqual([]);
        const undone = await later.undo("call-1");
        expect(undone).toMatchObject({ ok: true, verified: true });
        if (undone.ok)
          expect(undone.effects.files.map(({ path, change }) => `${change} ${path}`)).toEqual([
            "edited a.txt",
            "mode c.txt",
            "added d",
            "added d/b.txt",
            "deleted n",
            "deleted n/x.txt",
          ]);
        expect(await snapshot(room.root, { times: true })).toEqual(before);
        expect(await later.undo("call-1")).toEqual({ ok: false, reason: "already_undone" });
      }));

    it("restores the times of folders, of one call after the other and beside what others left alone", () =>
      inRoom(worker, DEEP, async (room) => {
        const { root, begin, work, workspaces } = room;
        const trees = [await snapshot(root, { times: true, folderTimes: true })];
        for (const [index, ops] of CALLS.entries()) {
          await room.others();
          const call = begin(`call-${index}`);
          await work(call, ...ops);
          expect(await call.apply()).toMatchObject({ ok: true });
          await call.keep();
          trees.push(await snapshot(root, { times: true, folderTimes: true }));
        }
        for (const index of [...CALLS.keys()].reverse()) {
          expect(await workspaces.undo(`call-${index}`)).toMatchObject({ ok: true, verified: true });
          expect(await snapshot(root, { times: true, folderTimes: true })).toEqual(trees[index]);
        }
      }));

    it("is refused with what was changed since, and changes nothing", () =>
      inRoom(worker, TREE, async (room) => {
        await kept(room);
        await room.others(
          { do: "append", path: "a.txt", content: "x" },
          { do: "write", path: "n/y.txt", content: "y" },
          { do: "make folder", path: "d" },
        );
        const before = await snapshot(room.root, { times: true });
        const undone = await room.workspaces.undo("call-1");
        if (undone.ok || undone.reason !== "changed_since") throw new Error(JSON.stringify(undone));
        expect(undone.conflicts.map(({ path }) => path)).toEqual(["a.txt", "d", "n"]);
        expect(await snapshot(room.root, { times: true })).toEqual(before);
      }));

    it("knows no call that did nothing, and none that is not there", () =>
      inRoom(worker, TREE, async ({ workspaces }) => {
        expect(await workspaces.undo("never")).toEqual({ ok: false, reason: "unknown" });
      }));
  });
}
