import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { FileStaging, Workspaces } from "@sallyport/engine/ports";
import { SallyportError } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { type DiskHook, withDiskHook } from "./disk.ts";
import { eachOf } from "./in-turn.ts";
import { openWorkspaces } from "./index.ts";
import { removeTree } from "./remove-tree.ts";
import { scratchFolder } from "./testing/check-workload.ts";
import { type FileOp, perform } from "./testing/file-ops.ts";
import { type Snapshot, snapshot } from "./testing/snapshot.ts";
import { inProcess } from "./testing/view-workers.ts";

/*
 * Every call to the file system fails once, with every code, while a call's changes are applied, taken back or undone;
 * and again with every call after it failing too. What is answered is compared with what is really there.
 */

const CODES = ["EACCES", "EIO", "ENOSPC", "ENOENT", "ENAMETOOLONG"] as const;
const MODES = ["once", "from then on"] as const;

const TREE: FileOp[] = [
  { do: "write", path: "a.txt", content: "a\n" },
  { do: "write", path: "b.txt", content: "b\n", mode: 0o640 },
  { do: "make folder", path: "d" },
  { do: "write", path: "d/c.txt", content: "c\n", mode: 0o444 },
  { do: "make folder", path: "d/e" },
];
const WORK: FileOp[] = [
  { do: "append", path: "a.txt", content: "more\n" },
  { do: "delete", path: "b.txt" },
  { do: "chmod", path: "d/c.txt", mode: 0o600 },
  { do: "remove folder", path: "d/e" },
  { do: "write", path: "d/e", content: "a file now\n" },
  { do: "make folder", path: "n" },
  { do: "write", path: "n/p.txt", content: "p\n", mode: 0o400 },
];

interface Site {
  root: string;
  before: Snapshot;
  after: Snapshot;
  call: FileStaging;
  workspaces: Workspaces;
  reopen(): Promise<Workspaces>;
}

/** What is wrong with an answer that was given while the disk failed, in words. */
type Story = (site: Site, faulty: <T>(work: () => Promise<T>) => Promise<T>) => Promise<string[]>;

async function inSite<T>(test: (site: Site) => Promise<T>): Promise<T> {
  const base = await scratchFolder();
  try {
    const [root, twin] = [join(base, "ws"), join(base, "twin")];
    for (const [place, ops] of [
      [root, TREE],
      [twin, [...TREE, ...WORK]],
    ] as const) {
      await mkdir(place);
      for (const op of ops) await perform(place, op);
    }
    const reopen = () => openWorkspaces({ folder: join(base, "state"), view: "copy" });
    const workspaces = await reopen();
    const rules = { root, writable: true, denied: [] };
    const call = workspaces.begin({ callId: "c", rules, maxBytes: 1e6 });
    await inProcess.work(call, WORK, { strict: true });
    const [before, after] = [await snapshot(root, { times: true }), await snapshot(twin)];
    return await test({ root, before, after, call, workspaces, reopen });
  } finally {
    await removeTree(base);
  }
}

/**
 * Pre-images are other names of the files; those that cannot be removed at once go at the next start. A file that had to be
 * copied has its time to the microsecond.
 */
const plain = (tree: Snapshot) =>
  Object.entries(tree).map(
    ([path, what]) => `${path}: ${what.replace(/ = \S+/, "").replace(/(\d{16})\d{3}$/, "$1")}`,
  );

async function changesSince({ root, before }: Site): Promise<string[]> {
  const [old, now] = [plain(before), plain(await snapshot(root, { times: true }))];
  return [...old.filter((line) => !now.includes(line)), ...now.filter((line) => !old.includes(line))];
}

const isBefore = async (site: Site) => (await changesSince(site)).length === 0;
const isAfter = async ({ root, after }: Site) => `${plain(await snapshot(root))}` === `${plain(after)}`;

/** The code of a refusal; what is no refusal of ours is told as it is. */
function codeOf(error: unknown): string {
  return error instanceof SallyportError ? error.failure.code : `raw ${String(error)}`;
}

const applying: Story = async (site, faulty) => {
  const wrong: string[] = [];
  const done = await faulty(() => site.call.apply()).catch(codeOf);
  const said = typeof done === "string" ? done : done.ok ? "applied" : "refused";
  if (said === "applied" && !(await isAfter(site)))
    wrong.push("applied, and the tree is not what it should be");
  if ((said === "refused" || said === "E3914") && !(await isBefore(site)))
    wrong.push(`${said}, and the tree is not as it was`);
  if (!["applied", "refused", "E3914", "E3912"].includes(said)) wrong.push(`apply: ${said}`);
  const { verified } = await site.call.rollback();
  if (!verified || !(await isBefore(site)))
    wrong.push(`${said}, then rolled back, verified ${verified}, as before ${await isBefore(site)}`);
  return wrong;
};

/** The disk has failed during the apply and goes on failing during the rollback. */
const applyingThenBack: Story = async (site, faulty) => {
  const wrong: string[] = [];
  const back = await faulty(async () => {
    const done = await site.call.apply().catch(codeOf);
    if (typeof done === "string" && !/^E391[24]$/.test(done)) wrong.push(`apply: ${done}`);
    return site.call.rollback().catch(codeOf);
  });
  return [...wrong, ...(await judgeBack(site, back))];
};

const takingBack: Story = async (site, faulty) => {
  await site.call.apply();
  return judgeBack(site, await faulty(() => site.call.rollback()).catch(codeOf));
};

async function judgeBack(site: Site, back: string | { verified: boolean }): Promise<string[]> {
  const wrong: string[] = [];
  if (typeof back === "string") wrong.push(`rollback: ${back}`);
  else if (back.verified && !(await isBefore(site)))
    wrong.push(`verified, and the tree is not as it was: ${await changesSince(site)}`);
  if (typeof back !== "string" && (await site.call.rollback()).verified !== back.verified)
    wrong.push("asked again, the rollback says something else");
  for (const found of await (await site.reopen()).recover(async () => false))
    if (found.rollback.verified !== (await isBefore(site)))
      wrong.push("recovery says something else than is there");
  if (!(await isBefore(site))) wrong.push(`recovery does not bring it back: ${await changesSince(site)}`);
  return wrong;
}

const undoing: Story = async (site, faulty) => {
  await site.call.apply();
  await site.call.keep();
  const wrong: string[] = [];
  const done = await faulty(() => site.workspaces.undo("c")).catch(codeOf);
  const said = typeof done === "string" ? done : done.ok ? "undone" : "refused";
  if (said === "undone" && !(await isBefore(site)))
    wrong.push(`undone, and the tree is not as it was: ${await changesSince(site)}`);
  if ((said === "refused" || said === "E3914") && !(await isAfter(site)))
    wrong.push(`${said}, and the tree changed`);
  if (!["undone", "refused", "E3914", "E3912"].includes(said)) wrong.push(`undo: ${said}`);
  const next = await site.workspaces.undo("c").catch(codeOf);
  const isDone = typeof next === "string" ? next : next.ok || next.reason === "already_undone";
  if (isDone !== true || !(await isBefore(site)))
    wrong.push(`${said}; undone again: ${JSON.stringify(next)}`);
  return wrong;
};

/** Counts calls; the n-th fails, or it and all after it. */
function failing(n: number, code: string, mode: (typeof MODES)[number]): { hook: DiskHook; calls: string[] } {
  const calls: string[] = [];
  const hook = (call: string) => {
    calls.push(call);
    if (mode === "once" ? calls.length !== n : calls.length < n) return;
    throw Object.assign(new Error(`${code}: ${call} is made to fail`), { code });
  };
  return { hook, calls };
}

async function runMatrix(
  story: Story,
  mode: (typeof MODES)[number],
): Promise<{ runs: number; wrong: string[] }> {
  const count = failing(0, "", "once");
  const sound = await inSite((site) => story(site, (work) => withDiskHook(count.hook, work)));
  const wrong = sound.map((one) => `without a fault: ${one}`);
  const runs = count.calls.flatMap((_, index) => CODES.map((code) => ({ n: index + 1, code })));
  await eachOf(runs, 8, async ({ n, code }) => {
    const { hook, calls } = failing(n, code, mode);
    const found = await inSite((site) => story(site, (work) => withDiskHook(hook, work))).catch(
      (error: unknown) => [`the test failed: ${error instanceof Error ? error.stack : error}`],
    );
    wrong.push(...found.map((one) => `${code} at call ${n} (${calls[n - 1]}): ${one}`));
  });
  return { runs: runs.length, wrong };
}

describe("a disk that fails", () => {
  it.each([
    { what: "while changes are applied", story: applying, mode: "once" },
    {
      what: "while changes are applied, and all the way back",
      story: applyingThenBack,
      mode: "from then on",
    },
    { what: "while applied changes are taken back", story: takingBack, mode: "once" },
    { what: "while applied changes are taken back", story: takingBack, mode: "from then on" },
    { what: "while a call is undone", story: undoing, mode: "once" },
    { what: "while a call is undone", story: undoing, mode: "from then on" },
  ] as const)(
    "is told as it is, $what ($mode) [R1-7.2]",
    async ({ story, mode }) => {
      const { runs, wrong } = await runMatrix(story, mode);
      console.log(`${runs} faults, ${wrong.length} false answers`);
      expect(wrong.slice(0, 40)).toEqual([]);
      expect(runs).toBeGreaterThan(100);
    },
    1_200_000,
  );
});

describe("a file that someone else deletes or replaces between two calls to the file system", () => {
  const meddle: Record<string, (path: string) => void> = {
    deleted: (path) => rmSync(path),
    "replaced by a link": (path) => {
      rmSync(path);
      symlinkSync("/etc/passwd", path);
    },
    "replaced by a folder": (path) => {
      rmSync(path);
      mkdirSync(path);
    },
  };

  it.each(Object.keys(meddle))("is a conflict and no error of the system (%s)", async (how) => {
    const look = async (site: Site, n: number) => {
      let calls = 0;
      const hook = () => {
        calls += 1;
        if (calls === n) meddle[how]?.(join(site.root, "a.txt"));
      };
      const shown = await withDiskHook(hook, () => site.call.effects()).catch(codeOf);
      if (typeof shown === "string") return { calls, said: `effects: ${shown}` };
      const applied = await site.call.apply().catch(codeOf);
      const isRefused = typeof applied !== "string" && !applied.ok;
      return { calls, said: isRefused ? "a conflict" : `applied: ${JSON.stringify(applied)}` };
    };
    const { calls } = await inSite((site) => look(site, 0));
    for (let n = 1; n <= calls; n += 1) {
      const { said } = await inSite((site) => look(site, n));
      expect(said, `at call ${n}`).toBe("a conflict");
    }
    expect(calls).toBeGreaterThan(10);
  });
});
