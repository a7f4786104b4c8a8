import { lstat, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openWorkspaces } from "./index.ts";
import type { FileOp } from "./testing/file-ops.ts";
import { snapshot } from "./testing/snapshot.ts";
import { inCopy, inOverlay, inProcess } from "./testing/view-workers.ts";
import { inRoom } from "./testing/workspace-room.ts";

const TREE: FileOp[] = [
  { do: "write", path: "a.txt", content: "a\n" },
  { do: "make folder", path: "d" },
  { do: "write", path: "d/b.txt", content: "b\n" },
];
const OUT_OF_TURN = { failure: { code: "E3911" } };

describe("a staging", () => {
  it("makes nothing on disk before it is used", () =>
    inRoom(inProcess, TREE, async ({ begin, leftovers }) => {
      const call = begin();
      await call.files.read("a.txt");
      expect(await leftovers()).toEqual([]);
      expect(await call.apply()).toMatchObject({ ok: true, effects: { files: [], omitted: 0 } });
      await call.keep();
    }));

  it("is used in this process or by another, not by both [E3911]", () =>
    inRoom(inCopy, TREE, async ({ begin }) => {
      const one = begin("one");
      await one.files.write("a.txt", "x");
      await expect(one.view()).rejects.toMatchObject(OUT_OF_TURN);
      const two = begin("two");
      await two.view();
      await expect(two.files.read("a.txt")).rejects.toMatchObject(OUT_OF_TURN);
      expect(await two.view()).toEqual(await two.view());
      await two.effects();
      await expect(two.view()).rejects.toMatchObject(OUT_OF_TURN);
      await Promise.all([one.rollback(), two.rollback()]);
    }));

  it("goes from staged to applied to kept, and nowhere else [E3911]", () =>
    inRoom(inProcess, TREE, async ({ begin, workspaces }) => {
      const call = begin();
      await call.files.write("a.txt", "x");
      await expect(call.keep()).rejects.toMatchObject(OUT_OF_TURN);
      expect(await call.apply()).toMatchObject({ ok: true });
      await expect(call.apply()).rejects.toMatchObject(OUT_OF_TURN);
      await expect(call.files.write("a.txt", "y")).rejects.toMatchObject(OUT_OF_TURN);
      expect(await workspaces.undo("call-1")).toEqual({ ok: false, reason: "unknown" });
      await call.keep();
      await expect(call.rollback()).rejects.toMatchObject(OUT_OF_TURN);
      const again = begin();
      await again.files.write("a.txt", "z");
      await expect(again.apply()).rejects.toMatchObject(OUT_OF_TURN);
      await again.rollback();
      expect(await workspaces.undo("call-1")).toMatchObject({ ok: true });
    }));

  it.each([".state", "..state"])(
    "never shows or changes the state folder, wherever it is (%s) [E3105]",
    async (state) => {
      const root = await mkdtemp(join(tmpdir(), "sallyport-inside-"));
      try {
        await writeFile(join(root, "a.txt"), "a\n");
        for (const worker of [inProcess, inCopy, inOverlay]) {
          const workspaces = await openWorkspaces({ folder: join(root, state, "ws"), view: worker.view });
          const rules = { root, writable: true, denied: [] };
          const call = workspaces.begin({ callId: worker.name, rules, maxBytes: 1e6 });
          await worker.work(call, [{ do: "append", path: "a.txt", content: "x\n" }], { strict: true });
          const applied = await call.apply();
          if (!applied.ok) throw new Error(JSON.stringify(applied));
          expect(applied.effects.files.map(({ path }) => path)).toEqual(["a.txt"]);
          await call.keep();
          const bad = workspaces.begin({ callId: `${worker.name} bad`, rules, maxBytes: 1e6 });
          const plant: FileOp = { do: "write", path: `${state}/ws/undo/planted`, content: "x" };
          const work = worker.work(bad, [plant], { strict: true });
          if (worker === inProcess) await expect(work).rejects.toMatchObject({ failure: { code: "E3105" } });
          if (worker === inOverlay) {
            await work;
            expect(await bad.apply()).toMatchObject({
              ok: false,
              denied: [{ path: `${state}/ws/undo/planted` }],
            });
          }
          // In a copy there is no such folder.
          if (worker === inCopy) await expect(work).rejects.toMatchObject({ code: "ENOENT" });
          await bad.rollback();
        }
      } finally {
        await rm(root, { recursive: true });
      }
    },
  );

  it.skipIf(!canHaveTwoDisks())("works with its state on another disk, down to times and modes", async () => {
    const [base, state] = [
      await mkdtemp(join(tmpdir(), "sallyport-two-")),
      await mkdtemp("/dev/shm/sallyport-two-"),
    ];
    try {
      const root = join(base, "ws");
      await mkdir(root);
      await writeFile(join(root, "a.txt"), "a\n", { mode: 0o640 });
      await writeFile(join(root, "b.txt"), "b\n", { mode: 0o444 });
      expect((await lstat(base)).dev).not.toBe((await lstat(state)).dev);
      const workspaces = await openWorkspaces({ folder: join(state, "ws"), view: "copy" });
      const before = await snapshot(root);
      const times = await Promise.all(
        ["a.txt", "b.txt"].map(async (name) => (await lstat(join(root, name))).mtimeMs),
      );
      for (const end of ["rollback", "undo"] as const) {
        const call = workspaces.begin({
          callId: end,
          rules: { root, writable: true, denied: [] },
          maxBytes: 1e6,
        });
        await call.files.write("a.txt", "changed\n");
        await call.files.remove("b.txt");
        expect(await call.apply()).toMatchObject({ ok: true });
        if (end === "rollback") expect(await call.rollback()).toMatchObject({ verified: true });
        else {
          await call.keep();
          expect(await workspaces.undo(end)).toMatchObject({ ok: true, verified: true });
        }
        expect(await snapshot(root)).toEqual(before);
        for (const [index, name] of ["a.txt", "b.txt"].entries())
          expect((await lstat(join(root, name))).mtimeMs).toBeCloseTo(times[index] ?? 0, 2);
      }
      expect((await readdir(root)).sort()).toEqual(["a.txt", "b.txt"]);
    } finally {
      await Promise.all([base, state].map((path) => rm(path, { recursive: true })));
    }
  });
});

function canHaveTwoDisks(): boolean {
  const can = process.platform === "linux";
  if (!can) console.warn("skipped: a state folder on another disk: needs /dev/shm");
  return can;
}

describe("a copied view", () => {
  it("is refused when the workspace is larger than the limit, which is named [E3102]", () =>
    inRoom(
      inCopy,
      [...TREE, { do: "write", path: "big", content: "x".repeat(20_000) }],
      async ({ begin, leftovers }) => {
        const call = begin();
        await expect(call.view()).rejects.toMatchObject({
          failure: {
            code: "E3102",
            message: expect.stringContaining("10000"),
            details: { limit: "copyLimitBytes" },
          },
        });
        await call.rollback();
        expect(await leftovers()).toEqual([]);
      },
      { copyLimitBytes: 10_000 },
    ));

  it("leaves out what is denied, and counts it neither as gone nor as anything", () =>
    inRoom(inCopy, TREE, async ({ root, begin, work }) => {
      const call = begin("call-1", { denied: ["d/**"] });
      const view = await call.view();
      expect(await readdir(view.kind === "copy" ? view.copy : root)).toEqual(["a.txt"]);
      await work(call, { do: "write", path: "new", content: "x" });
      const { files } = await call.effects();
      expect(files.map(({ path }) => path)).toEqual(["new"]);
      await call.rollback();
    }));

  it("is chosen when an overlay does not work here", () =>
    inRoom(
      inCopy,
      TREE,
      async ({ begin }) => {
        const call = begin();
        expect(await call.view()).toMatchObject({ kind: "copy" });
        await call.rollback();
      },
      { view: "auto", overlayWorks: async () => false },
    ));
});

describe("an overlay view", () => {
  it("is chosen where it works, whatever the launcher's probe has to do for it", () =>
    inRoom(
      inOverlay,
      TREE,
      async ({ begin }) => {
        const call = begin();
        expect(await call.view()).toMatchObject({ kind: "overlay" });
        await call.rollback();
      },
      { view: "auto" },
    ));

  it("of a large tree costs as little as that of a small one", () =>
    inRoom(inOverlay, [], async ({ root, begin }) => {
      for (let folder = 0; folder < 20; folder += 1) {
        await mkdir(join(root, `d${folder}`));
        await Promise.all(
          Array.from({ length: 500 }, (_, index) => writeFile(join(root, `d${folder}/f${index}`), "")),
        );
      }
      const times: number[] = [];
      for (let run = 0; run < 5; run += 1) {
        const call = begin(`run-${run}`);
        const started = performance.now();
        await call.view();
        times.push(performance.now() - started);
        await call.rollback();
      }
      // A copy of ten thousand files takes seconds.
      expect(Math.min(...times)).toBeLessThan(500);
    }));
});

describe("old records", () => {
  it("held changes go with age too, whoever forgot them", () => {
    let now = Date.now();
    return inRoom(
      inProcess,
      TREE,
      async ({ begin, workspaces }) => {
        const call = begin("one");
        await call.files.write("new.txt", "x");
        await call.hold("one.1");
        await workspaces.expire();
        expect(await workspaces.resumeHeld("one.1", "one")).toBeDefined();
        now += 100_000;
        await workspaces.expire();
        expect(await workspaces.resumeHeld("one.1", "two")).toBeUndefined();
      },
      { clock: { now: () => now }, keepMs: 50_000 },
    );
  });

  it("expire by age and, oldest first, by size", () => {
    let now = Date.now();
    const clock = { now: () => now };
    return inRoom(
      inProcess,
      TREE,
      async ({ base, begin, workspaces }) => {
        for (const id of ["one", "two", "three"]) {
          const call = begin(id);
          await call.files.write(`${id}.txt`, "x");
          await call.files.write("a.txt", id.repeat(1_000));
          expect(await call.apply()).toMatchObject({ ok: true });
          await call.keep();
          now += 1_000;
        }
        await workspaces.expire();
        expect(await workspaces.undo("one")).toEqual({ ok: false, reason: "expired" });
        expect(await readdir(join(base, "state/undo/one"))).toEqual(["status.json"]);
        expect(await workspaces.undo("three")).toMatchObject({ ok: true });
        now += 100_000;
        await workspaces.expire();
        expect(await workspaces.undo("two")).toEqual({ ok: false, reason: "expired" });
        expect(await workspaces.undo("three")).toEqual({ ok: false, reason: "already_undone" });
      },
      { clock, keepMs: 50_000, keepBytes: 6_001 },
    );
  });
});

describe("recovery", () => {
  it("keeps what was applied and is on record, and takes back what is not", () =>
    inRoom(inProcess, TREE, async ({ root, begin, reopen }) => {
      const before = await snapshot(root);
      for (const id of ["done", "lost"]) {
        const call = begin(id);
        await call.files.write(`${id}.txt`, "x");
        await call.apply();
      }
      const next = await reopen();
      const takenBack = await next.recover(async (callId) => callId === "done");
      expect(takenBack).toEqual([
        { callId: "lost", rollback: { verified: true, discarded: 1, left: [], hash: expect.any(String) } },
      ]);
      expect(Object.keys(await snapshot(root)).sort()).toEqual([...Object.keys(before), "done.txt"].sort());
      expect(await next.recover(async () => false)).toEqual([]);
      expect(await next.undo("done")).toMatchObject({ ok: true });
      expect(await snapshot(root)).toEqual(before);
    }));

  it("leaves alone what this process is working on", () =>
    inRoom(inProcess, TREE, async ({ begin, workspaces }) => {
      const [staged, applied] = [begin("staged"), begin("applied")];
      await staged.files.write("s.txt", "s");
      await applied.files.write("p.txt", "p");
      await applied.apply();
      expect(await workspaces.recover(async () => false)).toEqual([]);
      expect(await staged.apply()).toMatchObject({ ok: true });
      await Promise.all([staged.keep(), applied.keep()]);
    }));

  it("never takes a call for undone of which something was left, whatever came in between [R1-7.2]", () => {
    let now = Date.now();
    return inRoom(
      inProcess,
      TREE,
      async ({ root, begin, others, reopen }) => {
        const call = begin();
        await call.files.write("a.txt", "the call's\n");
        await call.files.write("new.txt", "new\n");
        expect(await call.apply()).toMatchObject({ ok: true });
        await others({ do: "append", path: "new.txt", content: "mine\n" });
        expect(await call.rollback()).toMatchObject({ verified: false, left: [{ path: "new.txt" }] });
        expect(await call.rollback()).toMatchObject({ verified: false, left: [{ path: "new.txt" }] });
        const recovered = async () => (await reopen()).recover(async () => false);
        const left = { callId: "call-1", rollback: { verified: false, left: [{ path: "new.txt" }] } };
        expect(await recovered()).toMatchObject([left]);
        // Another call has come to the same content: that stays.
        await others({ do: "write", path: "a.txt", content: "the call's\n" });
        expect(await recovered()).toMatchObject([
          { rollback: { left: [{ path: "a.txt" }, { path: "new.txt" }] } },
        ]);
        expect(await snapshot(root)).toHaveProperty("new.txt");
        now += 100_000;
        await (await reopen()).expire();
        expect(await recovered()).toMatchObject([{ callId: "call-1", rollback: { verified: false } }]);
      },
      { clock: { now: () => now }, keepMs: 50_000 },
    );
  });

  it("takes a call for undone once a person has put right what was left", () =>
    inRoom(inProcess, TREE, async ({ begin, others, reopen }) => {
      const call = begin();
      await call.files.write("new.txt", "new\n");
      await call.apply();
      await others({ do: "append", path: "new.txt", content: "mine\n" });
      expect(await call.rollback()).toMatchObject({ verified: false });
      await others({ do: "delete", path: "new.txt" });
      const next = await reopen();
      expect(await next.recover(async () => false)).toMatchObject([{ rollback: { verified: true } }]);
      expect(await next.recover(async () => false)).toEqual([]);
    }));

  it("waits for a workspace that is not there", () =>
    inRoom(inProcess, TREE, async ({ root, base, begin, reopen }) => {
      const call = begin();
      await call.files.write("a.txt", "x");
      await call.apply();
      await rename(root, join(base, "elsewhere"));
      const next = await reopen();
      expect(await next.recover(async () => false)).toMatchObject([{ rollback: { verified: false } }]);
      await rename(join(base, "elsewhere"), root);
      expect(await next.recover(async () => false)).toMatchObject([{ rollback: { verified: true } }]);
    }));
});
