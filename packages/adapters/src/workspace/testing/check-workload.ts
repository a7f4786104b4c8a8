import { mkdir, mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FileCommit, Undone } from "@sallyport/engine/ports";
import { openWorkspaces, type WorkspacesOptions } from "../index.ts";
import { removeTree } from "../remove-tree.ts";
import { type FileOp, performAll } from "./file-ops.ts";
import { inFolder, type Workload } from "./random-workload.ts";
import { snapshot } from "./snapshot.ts";
import type { ViewWorker } from "./view-workers.ts";

/** How workloads end. `undo`: kept first, then taken back. */
export type WorkloadEnd = "keep" | "rollback staged" | "rollback applied" | "undo";

export interface Check {
  worker: ViewWorker;
  workloads: readonly Workload[];
  end: WorkloadEnd;
  /** Does operations in a plain folder; what the view shall come to. */
  perform?: (root: string, ops: readonly FileOp[]) => Promise<void>;
  options?: Partial<WorkspacesOptions>;
  /** Called when the changes were refused because this user may not open or read what they concern. */
  onRefusal?: () => void;
}

/** Where the tests keep their trees: in memory if possible, as thousands of them are made. */
export async function scratchFolder(): Promise<string> {
  const shared = await mkdtemp("/dev/shm/sallyport-effects-").catch(() => undefined);
  return shared ?? mkdtemp(join(tmpdir(), "sallyport-effects-"));
}

/**
 * Does workloads in one view, each in a folder of its own, and the same in a plain folder. Resolves with what is
 * different, which is nothing: after `keep` from the plain folder, otherwise from what was there before.
 */
export async function checkWorkloads(check: Check): Promise<string[]> {
  const base = await scratchFolder();
  try {
    return await checkIn(base, check);
  } finally {
    await removeTree(base);
  }
}

async function checkIn(base: string, check: Check): Promise<string[]> {
  const { worker, workloads, end, perform = performAll, options } = check;
  const [root, plain] = [join(base, "ws"), join(base, "plain")];
  const work = workloads.map(({ tree, ops }, index) => ({
    folder: `s${index}`,
    tree,
    ops: inFolder(`s${index}`, ops),
  }));
  for (const place of [root, plain]) {
    await mkdir(place);
    for (const { folder, tree } of work) {
      await mkdir(join(place, folder));
      await perform(place, inFolder(folder, tree));
    }
  }
  const all = work.flatMap(({ ops }) => ops);
  const known = worker.full ? all : all.filter((op) => op.do !== "hard link");
  await perform(plain, known);
  const before = await snapshot(root, { times: true, folderTimes: true });
  const workspaces = await openWorkspaces({ folder: join(base, "state"), view: worker.view, ...options });
  const call = workspaces.begin({ callId: "c", rules: { root, writable: true, denied: [] }, maxBytes: 1e9 });
  await worker.work(call, known, { strict: false });
  if (end !== "rollback staged") {
    const applied = await call.apply();
    if (!applied.ok && isRefusal(applied)) {
      check.onRefusal?.();
      await call.rollback();
      return differences(before, await snapshot(root, { times: true, folderTimes: true }));
    }
    if (!applied.ok) return [`not applied: ${JSON.stringify(applied)}`];
  }
  if (end === "keep" || end === "undo") await call.keep();
  else {
    const { verified, left } = await call.rollback();
    if (!verified) return [`not verified: ${JSON.stringify(left)}`];
  }
  if (end === "undo") {
    const undone = await workspaces.undo("c");
    // A call that changed nothing in the end leaves nothing to take back.
    const isFine = undone.ok || undone.reason === "unknown";
    if (!isFine && isClosed(undone)) {
      check.onRefusal?.();
      return [];
    }
    if (!isFine) return [`not undone: ${JSON.stringify(undone)}`];
  }
  const expected = end === "keep" ? await snapshot(plain) : before;
  const found = await snapshot(root, { times: end !== "keep", folderTimes: end !== "keep" });
  const staged = await readdir(join(base, "state", "staging"));
  return [...differences(expected, found), ...staged.map((name) => `left behind: ${name}`)];
}

/** A user who is not root may not open every folder; then nothing is applied, which is right too. */
function isRefusal(applied: FileCommit): boolean {
  if (process.getuid?.() === 0 || applied.ok || !("denied" in applied)) return false;
  return applied.denied.every(({ why }) => /cannot be (opened|read)/.test(why));
}

function isClosed(undone: Undone): boolean {
  if (process.getuid?.() === 0 || undone.ok || undone.reason !== "changed_since") return false;
  return undone.conflicts.every(({ what }) => /cannot be opened/.test(what));
}

function differences(expected: Record<string, string>, found: Record<string, string>): string[] {
  const paths = new Set([...Object.keys(expected), ...Object.keys(found)]);
  return [...paths]
    .filter((path) => expected[path] !== found[path])
    .map(
      (path) =>
        `${JSON.stringify(path)}: ${expected[path] ?? "nothing"} expected, ${found[path] ?? "nothing"} found`,
    );
}
