import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileOp } from "./file-ops.ts";
import { snapshot } from "./snapshot.ts";
import type { ViewWorker } from "./view-workers.ts";
import { inRoom } from "./workspace-room.ts";

const TREE: FileOp[] = [
  { do: "write", path: "a.txt", content: "a\n" },
  { do: "write", path: "b.txt", content: "b\n" },
];
const WORK: FileOp[] = [
  { do: "append", path: "a.txt", content: "more\n" },
  { do: "move", path: "b.txt", to: "c.txt" },
  { do: "make folder", path: "d" },
  { do: "write", path: "d/e.txt", content: "e\n" },
];

/** Changes that wait for a person's yes. */
export function heldContract(worker: ViewWorker): void {
  describe(`held changes (${worker.name})`, () => {
    it("outlive the process, and exactly what was shown is applied", () =>
      inRoom(worker, TREE, async ({ root, begin, work, reopen, leftovers }) => {
        const before = await snapshot(root);
        const call = begin();
        await work(call, ...WORK);
        const shown = await call.effects();
        await call.hold("approval/1");
        expect(await snapshot(root)).toEqual(before);
        const next = await reopen();
        expect(await next.recover(async () => false)).toEqual([]);
        const resumed = await next.resumeHeld("approval/1", "call-2");
        expect(await resumed?.effects()).toEqual(shown);
        expect(await resumed?.apply()).toEqual({ ok: true, effects: shown });
        await resumed?.keep();
        expect(Object.keys(await snapshot(root)).sort()).toEqual(["a.txt", "c.txt", "d", "d/e.txt"]);
        expect(await next.resumeHeld("approval/1", "call-3")).toBeUndefined();
        expect(await leftovers()).toEqual([]);
      }));

    it("are a conflict when the workspace changed meanwhile, and can be dropped", () =>
      inRoom(worker, TREE, async ({ begin, work, others, workspaces, leftovers }) => {
        const call = begin();
        await work(call, ...WORK);
        await call.hold("later");
        await others({ do: "append", path: "a.txt", content: "other\n" });
        const resumed = await workspaces.resumeHeld("later", "call-2");
        expect(await resumed?.apply()).toEqual({
          ok: false,
          conflicts: [{ path: "a.txt", what: "edited by someone else" }],
        });
        await workspaces.dropHeld("later");
        await workspaces.dropHeld("later");
        expect(await workspaces.resumeHeld("later", "call-3")).toBeUndefined();
        expect(await leftovers()).toEqual([]);
      }));

    it("are refused when they are no longer what was shown [E3703]", () =>
      inRoom(worker, TREE, async ({ base, begin, work, workspaces }) => {
        const call = begin();
        await work(call, ...WORK);
        await call.hold("tampered");
        const content = join(base, "state", "held", "tampered", "content");
        const [first = ""] = await readdir(content);
        await writeFile(join(content, first), "something else\n");
        await expect(workspaces.resumeHeld("tampered", "call-2")).rejects.toMatchObject({
          failure: { code: "E3703" },
        });
      }));
  });
}
