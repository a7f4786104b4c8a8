import type { FileConflict, FileRollback } from "@sallyport/engine/ports";
import type { Anchor } from "./anchor.ts";
import { link, mkdir, rename, rmdir, unlink } from "./disk.ts";
import type { StepHook } from "./durable.ts";
import { type Entry, look, lookInto, namesIn } from "./entry.ts";
import { openFound, type Standing, standingOf } from "./examine.ts";
import { setMode } from "./file-mode.ts";
import { type FolderFinish, finishFolders, lookAtFolder, openFolders } from "./folder-access.ts";
import { matches } from "./matches.ts";
import {
  changesInPlace,
  oldContent,
  type Plan,
  type PlannedChange,
  temporaryName,
  temporaryTest,
} from "./plan.ts";
import { proofOf } from "./proof.ts";
import { putContent } from "./put-content.ts";
import { below, byPath, folderOf } from "./relative-path.ts";
import { hasCode, NOTHING_THERE, systemError, unless, wordsOf } from "./system-error.ts";

/** A plan that was carried out in part or in whole and is to be taken back. */
export interface RestoreOrder {
  plan: Plan;
  /** The record's folder. */
  record: string;
  anchor: Anchor;
  step: StepHook;
  /** Folders in which someone else changed names since: their times stay. */
  keepTimes?: ReadonlySet<string>;
}

/**
 * Puts every path back as it was before the plan, from whatever state it is in; safe to repeat, also after being cut
 * short. What is neither as before nor as the plan left it is someone else's: it stays and is listed, as does whatever
 * an error keeps from being put back or looked at. Never rejects: the answer is what the workspace was seen to be.
 */
export async function restore(order: RestoreOrder): Promise<FileRollback> {
  const done = await new Restoring(order).run();
  // An error may have passed by now; what someone else changed stays as it is.
  return done.verified ? done : new Restoring(order).run();
}

class Restoring {
  readonly #order: RestoreOrder;
  readonly #left = new Map<string, FileConflict>();
  readonly #found = new Map<string, Entry | undefined>();

  constructor(order: RestoreOrder) {
    this.#order = order;
  }

  async run(): Promise<FileRollback> {
    const { plan, anchor, step } = this.#order;
    for (const folder of plan.folders)
      await this.#try(folder.path, () => unless(NOTHING_THERE, openFolders(anchor, [folder], step)));
    for (const change of plan.changes) await this.#try(change.path, () => openFound(anchor, change));
    const standings = new Map<PlannedChange, Standing>();
    for (const change of plan.changes)
      await this.#try(change.path, async () => standings.set(change, await this.#examine(change)));
    await this.#takeAway(standings);
    await this.#putBack(standings);
    await this.#removeTemporaries();
    await this.#finishFolders();
    return this.#prove();
  }

  async #examine(change: PlannedChange): Promise<Standing> {
    const now = await lookInto(this.#order.anchor, change.path);
    const standing = standingOf(change, now);
    this.#found.set(change.path, now);
    if (standing === "foreign") this.#leave(change.path, "changed by someone else since");
    return standing;
  }

  /** What the plan made, children first; what others put into a folder of ours keeps that folder. */
  async #takeAway(standings: ReadonlyMap<PlannedChange, Standing>): Promise<void> {
    const { anchor, step, plan } = this.#order;
    for (const change of plan.changes.toReversed()) {
      const { path, before, after } = change;
      if (standings.get(change) !== "after" || after === undefined) continue;
      const isFolder = after.type === "folder";
      if (before !== undefined && (before.type === "folder") === isFolder) continue;
      await this.#try(path, async () => {
        step(`take away ${path}`);
        if (isFolder) await anchor.forget(path);
        await anchor.at(path, (safe) => (isFolder ? rmdir(safe) : unlink(safe)));
      });
    }
  }

  async #putBack(standings: ReadonlyMap<PlannedChange, Standing>): Promise<void> {
    for (const [index, change] of this.#order.plan.changes.entries()) {
      const { path, before } = change;
      const standing = standings.get(change);
      if (!before || standing === "before" || this.#left.has(path)) continue;
      await this.#try(path, () => this.#putBackOne(change, index));
    }
  }

  async #putBackOne(change: PlannedChange, index: number): Promise<void> {
    const { anchor, step } = this.#order;
    const { path, before } = change;
    step(`put back ${path}`);
    if (before?.type === "folder") return anchor.at(path, makeMissing);
    if (changesInPlace(change)) return anchor.at(path, (file) => setMode(file, before?.mode ?? 0));
    const temporary = below(folderOf(path), temporaryName(this.#order.plan.key, "old", index));
    await anchor.at(temporary, async (safe) => {
      await unless(NOTHING_THERE, unlink(safe));
      await this.#makeOld(safe, change, index);
      step(`place ${path}`);
      await anchor.at(path, (to) => this.#place(safe, to, change));
    });
  }

  async #makeOld(target: string, { before }: PlannedChange, index: number): Promise<void> {
    if (!before) return;
    const { anchor, record } = this.#order;
    const content = { kind: "original", path: oldContent(record, index) } as const;
    await putContent(target, { wanted: { ...before, content }, owner: before, anchor });
  }

  /** Over what the plan put there, but never over what someone put where the plan left nothing. */
  async #place(from: string, to: string, { path, before, after }: PlannedChange): Promise<void> {
    const replaces = after !== undefined && before !== undefined && after.type !== "folder";
    if (replaces && !(await this.#isStill(path))) throw systemError("EEXIST", path);
    if (replaces) return rename(from, to);
    await link(from, to);
    await unlink(from);
  }

  async #isStill(path: string): Promise<boolean> {
    const [found, now] = [this.#found.get(path), await look(this.#order.anchor, path)];
    return found?.inode === now?.inode && found?.mtimeNs === now?.mtimeNs;
  }

  async #removeTemporaries(): Promise<void> {
    const { anchor, step } = this.#order;
    await this.#eachTemporary(async (path) => {
      step(`remove what was temporary: ${path}`);
      await anchor.at(path, unlink);
    });
    await this.#eachTemporary(async (path) => this.#leave(path, "is temporary, and could not be removed"));
  }

  async #eachTemporary(work: (path: string) => Promise<void>): Promise<void> {
    const { plan, anchor } = this.#order;
    const isTemporary = temporaryTest(plan);
    for (const { path } of plan.folders)
      await this.#try(path, async () => {
        const { names } = (await unless(NOTHING_THERE, namesIn(anchor, path))) ?? { names: [] };
        for (const name of names.filter(isTemporary)) await work(below(path, name));
      });
  }

  async #finishFolders(): Promise<void> {
    const { plan, anchor, keepTimes } = this.#order;
    const finishes: FolderFinish[] = [];
    const planned = new Set(plan.changes.map(({ path }) => path));
    for (const { path, mode, mtimeNs } of plan.folders)
      if (!planned.has(path)) finishes.push({ path, mode, ...(!keepTimes?.has(path) && { mtimeNs }) });
    for (const { path, before } of plan.changes)
      if (before?.type === "folder" && !this.#left.has(path))
        finishes.push(folderBefore(path, before, keepTimes));
    for (const finish of finishes.sort(deepestFirst)) {
      await this.#try(finish.path, async () => {
        if ((await lookAtFolder(anchor, finish.path))?.type === "folder")
          await finishFolders(anchor, [finish]);
      });
    }
  }

  async #prove(): Promise<FileRollback> {
    const { plan, anchor } = this.#order;
    const seen = await prove(anchor, plan);
    for (const { path, what } of seen.left) if (!this.#left.has(path)) this.#leave(path, what);
    const left = [...this.#left.values()].sort(byPath);
    return { ...seen, verified: left.length === 0, left };
  }

  #leave(path: string, what: string): void {
    const shown = path === "" ? "." : path;
    this.#left.set(shown, { path: shown, what });
  }

  /** One path that cannot be put back must not keep the others from it. */
  async #try(path: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const others = hasCode(error, "ENOTEMPTY", "EEXIST");
      this.#leave(path, others ? "holds or is what someone else put there" : wordsOf(error));
    }
  }
}

/** Looks whether a workspace is as it was before a plan. What cannot be looked at is listed as left. */
export async function prove(anchor: Anchor, plan: Plan): Promise<FileRollback> {
  const left = new Map<string, FileConflict>();
  const leave = (path: string, what: string) => left.set(path, { path: path === "" ? "." : path, what });
  const now = new Map<string, Entry | undefined>();
  const planned = new Set(plan.changes.map(({ path }) => path));
  for (const { path, before } of plan.changes)
    try {
      const entry = await lookInto(anchor, path);
      now.set(path, entry);
      if (!matches(entry, before)) leave(path, "is not as it was");
    } catch (error) {
      leave(path, wordsOf(error));
    }
  for (const { path, mode } of plan.folders.filter(({ path }) => !planned.has(path)))
    try {
      const folder = await lookAtFolder(anchor, path);
      if (folder?.type === "folder" && folder.mode !== mode) leave(path, "is not as it was");
    } catch (error) {
      leave(path, wordsOf(error));
    }
  const verified = left.size === 0;
  return {
    verified,
    hash: proofOf(now),
    discarded: plan.changes.length,
    left: [...left.values()].sort(byPath),
  };
}

async function makeMissing(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
}

function folderBefore(path: string, entry: Entry, keepTimes?: ReadonlySet<string>): FolderFinish {
  const { mode, mtimeNs, uid, gid } = entry;
  return { path, mode, owner: { uid, gid }, ...(!keepTimes?.has(path) && { mtimeNs }) };
}

function deepestFirst(left: FolderFinish, right: FolderFinish): number {
  return left.path < right.path ? 1 : -1;
}
