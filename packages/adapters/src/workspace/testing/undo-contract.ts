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
