import { describe, expect, it } from "vitest";
import type { FileOp } from "./file-ops.ts";
import { snapshot } from "./snapshot.ts";
import type { ViewWorker } from "./view-workers.ts";
import { inRoom } from "./workspace-room.ts";

const TREE: FileOp[] = [
  { do: "write", path: "a.txt", content: "a\n" },
  { do: "write", path: "b.txt", content: "b\n" },
  { do: "make folder", path: "d" },
  { do: "write", path: "d/c.txt", content: "c\n" },
  { do: "write", path: "d/e.txt", content: "e\n" },
];

/** What others did meanwhile, and which of the call's paths that concerns. */
const CASES: { name: string; call: FileOp[]; others: FileOp[]; conflicts: [string, string][] }[] = [
  {
    name: "a file the call edited was edited",
    call: [{ do: "append", path: "a.txt", content: "call\n" }],
    others: [{ do: "write", path: "a.txt", content: "A\n" }],
    conflicts: [["a.txt", "edited by someone else"]],
  },
  {
    name: "a file the call deleted was edited",
    call: [{ do: "delete", path: "a.txt" }],
    others: [{ do: "append", path: "a.txt", content: "x" }],
    conflicts: [["a.txt", "edited by someone else"]],
  },
  {
    name: "a file the call made was made",
    call: [{ do: "write", path: "new.txt", content: "call\n" }],
    others: [{ do: "write", path: "new.txt", content: "other\n" }],
    conflicts: [["new.txt", "by someone else"]],
  },
  {
    name: "a file the call edited was deleted",
    call: [{ do: "append", path: "d/c.txt", content: "call\n" }],
    others: [{ do: "delete", path: "d/c.txt" }],
    conflicts: [["d/c.txt", "by someone else"]],
  },
  {
    name: "the bits of a file the call edited were changed",
    call: [{ do: "append", path: "a.txt", content: "call\n" }],
    others: [{ do: "chmod", path: "a.txt", mode: 0o600 }],
    conflicts: [["a.txt", "edited by someone else"]],
  },
  {
    name: "a folder the call made something in was deleted",
    call: [{ do: "write", path: "d/new.txt", content: "x" }],
    others: [{ do: "delete tree", path: "d" }],
    conflicts: [["d", "by someone else"]],
  },
  {
    name: "something was put into a folder the call deleted",
    call: [{ do: "delete tree", path: "d" }],
    others: [{ do: "write", path: "d/x.txt", content: "x" }],
    conflicts: [["d", ""]],
  },
];

/** A file that someone else changed meanwhile is a conflict: nothing is committed. */
export function conflictContract(worker: ViewWorker): void {
  describe(`conflicts (${worker.name})`, () => {
    it.each(CASES)("are found when $name", ({ call: ops, others: theirs, conflicts }) =>
      inRoom(worker, TREE, async ({ root, begin, work, others }) => {
        const call = begin();
        await work(call, ...ops);
        await others(...theirs);
        const before = await snapshot(root, { times: true });
        const applied = await call.apply();
        if (applied.ok || !("conflicts" in applied)) throw new Error(JSON.stringify(applied));
        for (const [path, what] of conflicts) {
          const found = applied.conflicts.find((one) => one.path === path || one.path.startsWith(`${path}/`));
          expect(found?.what).toContain(what);
        }
        expect(await snapshot(root, { times: true })).toEqual(before);
        await call.rollback();
      }),
    );

    it("are none when others changed other files", () =>
      inRoom(worker, TREE, async ({ begin, work, others }) => {
        const call = begin();
        await work(
          call,
          { do: "append", path: "a.txt", content: "call\n" },
          { do: "delete", path: "d/c.txt" },
        );
        await others(
          { do: "append", path: "b.txt", content: "x" },
          { do: "append", path: "d/e.txt", content: "x" },
        );
        expect(await call.apply()).toMatchObject({ ok: true });
        await call.keep();
      }));

    it("are none between calls that make different files in one folder side by side", () =>
      inRoom(worker, TREE, async ({ root, begin, work }) => {
        const calls = ["one", "two", "three"].map((id) => begin(id));
        for (const call of calls) await work(call, { do: "write", path: `d/${call.callId}`, content: "x" });
        for (const call of calls) {
          expect(await call.apply()).toMatchObject({ ok: true });
          await call.keep();
        }
        expect(Object.keys(await snapshot(root))).toEqual(
          expect.arrayContaining(["d/one", "d/two", "d/three"]),
        );
      }));

    it("are found between calls that change the same file side by side", () =>
      inRoom(worker, TREE, async ({ begin, work }) => {
        const calls = ["one", "two"].map((id) => begin(id));
        for (const call of calls) await work(call, { do: "write", path: "a.txt", content: call.callId });
        const applied = await Promise.all(calls.map((call) => call.apply()));
        expect(applied.filter(({ ok }) => ok)).toHaveLength(1);
      }));
  });
}
