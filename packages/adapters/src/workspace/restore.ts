import { link, mkdir, rename, rmdir, unlink } from "node:fs/promises";
import type { FileConflict, FileRollback } from "@sallyport/engine";
import type { Anchor } from "./anchor.ts";
import type { StepHook } from "./durable.ts";
import { type Entry, look, lookInto } from "./entry.ts";
import { openFound, type Standing, standingOf } from "./examine.ts";
import { setMode } from "./file-mode.ts";
import { type FolderFinish, finishFolders, openFolders } from "./folder-access.ts";
import { matches } from "./matches.ts";
import { changesInPlace, oldContent, type Plan, type PlannedChange, temporaryName } from "./plan.ts";
import { proofOf } from "./proof.ts";
import { putContent } from "./put-content.ts";
import { below, folderOf } from "./relative-path.ts";
import { hasCode, NOTHING_THERE, systemError, unless } from "./system-error.ts";

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
 * short. What is neither as before nor as the plan left it is someone else's: it stays and is listed.
 */
export function restore(order: RestoreOrder): Promise<FileRollback> {
  return new Restoring(order).run();
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
    await this.#try("", () => openFolders(anchor, plan.folders, step));
    await openFound(anchor, plan);
    const standings = new Map<PlannedChange, Standing>();
    for (const change of plan.changes) standings.set(change, await this.#examine(change));
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
      step(`take away ${path}`);
      if (isFolder) await anchor.forget(path);
      await this.#try(path, () => anchor.at(path, (safe) => (isFolder ? rmdir(safe) : unlink(safe))));
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
    const { plan, anchor, step } = this.#order;
    step("remove what was temporary");
    for (const [index, { path, before, waitsIn }] of plan.changes.entries()) {
      const names = [
        ...(waitsIn === undefined ? [] : [below(waitsIn, temporaryName(plan.key, "new", index))]),
        ...(before && before.type !== "folder"
          ? [below(folderOf(path), temporaryName(plan.key, "old", index))]
          : []),
      ];
      for (const name of names) await unless(NOTHING_THERE, anchor.at(name, unlink));
    }
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
      if (!(await this.#isFolder(finish.path))) continue;
      await this.#try(finish.path, () => finishFolders(anchor, [finish]));
    }
  }

  async #isFolder(path: string): Promise<boolean> {
    return (await look(this.#order.anchor, path === "" ? "." : path))?.type === "folder";
  }

  async #prove(): Promise<FileRollback> {
    const { plan, anchor } = this.#order;
    const now = new Map<string, Entry | undefined>();
    for (const { path, before } of plan.changes) {
      const entry = await lookInto(anchor, path);
      now.set(path, entry);
      if (!matches(entry, before) && !this.#left.has(path)) this.#leave(path, "is not as it was");
    }
    const left = [...this.#left.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
    return { verified: left.length === 0, hash: proofOf(now), discarded: plan.changes.length, left };
  }

  #leave(path: string, what: string): void {
    this.#left.set(path, { path, what });
  }

  /** One path that cannot be put back must not keep the others from it. */
  async #try(path: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error)) throw error;
      const others = hasCode(error, "ENOTEMPTY", "EEXIST");
      this.#leave(path, others ? "holds or is what someone else put there" : error.message);
    }
  }
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
