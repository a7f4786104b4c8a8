import { join } from "node:path";
import type { FileConflict } from "@sallyport/engine/ports";
import { SallyportError } from "@sallyport/protocol";
import { listAttributes } from "../sandbox/launcher/index.ts";
import { type Anchor, anchored } from "./anchor.ts";
import { DELETED, whatChanged } from "./baseline.ts";
import { carryOut } from "./carry-out.ts";
import type { ChangeSet } from "./change.ts";
import { ConcurrentChangeError } from "./concurrent-change.ts";
import { copyContent } from "./copy-content.ts";
import { link } from "./disk.ts";
import { makeFolder, privateFolder, type StepHook, syncFolder, writeJson } from "./durable.ts";
import { findRenames } from "./effects.ts";
import { type Entry, hashAt, look } from "./entry.ts";
import { notCommitted, notRestored, outOfTurn } from "./failures.ts";
import { openToRead, using } from "./file-content.ts";
import { lookAtFolder } from "./folder-access.ts";
import type { FolderLog } from "./folder-log.ts";
import { eachOf } from "./in-turn.ts";
import { matches } from "./matches.ts";
import {
  busyFolders,
  oldContent,
  type Plan,
  type PlannedChange,
  type PlannedFolder,
  planChanges,
} from "./plan.ts";
import { closeRecord } from "./records.ts";
import { folderOf, nameOf } from "./relative-path.ts";
import { restore } from "./restore.ts";
import { hasCode, twice, wordsOf } from "./system-error.ts";

const AT_ONCE = 8;

/** Where pre-images go, and from where. */
interface PreImageRoom {
  anchor: Anchor;
  /** The record's folder. */
  record: string;
  step: StepHook;
}

/**
 * Saves the content of every file that will be replaced or deleted: as another name of the same file where that can be,
 * which keeps everything about it, otherwise as a copy. All of it is on disk once this resolves.
 */
async function savePreImages(
  room: PreImageRoom,
  changes: readonly PlannedChange[],
): Promise<ReadonlySet<PlannedChange>> {
  const copied = new Set<PlannedChange>();
  const numbered = changes.map((change, index) => ({ change, index })).filter(({ change }) => change.old);
  if (numbered.length === 0) return copied;
  await privateFolder(join(room.record, "old"));
  await eachOf(numbered, AT_ONCE, async ({ change, index }) => {
    if (!(await save(room, change, oldContent(room.record, index)))) copied.add(change);
  });
  await syncFolder(join(room.record, "old"));
  return copied;
}

/** Whose access list and attributes each new file gets: those of the file that it replaces, or that it was before. */
async function attributeSources(
  { set, plan: { purpose } }: CommitOrder,
  { root, changes }: Plan,
): Promise<Map<PlannedChange, string>> {
  // An undo puts the very files back.
  if (purpose === "undo") return new Map();
  const renames = new Map([...findRenames(set.changes)].map(([to, from]) => [to.path, from.path]));
  const candidates = changes.flatMap((change) => {
    const { path, before, after, waitsIn } = change;
    const from = before?.type === "file" ? path : renames.get(path);
    const isNew = waitsIn !== undefined && after?.type === "file" && after.linkTo === undefined;
    return isNew && from !== undefined ? [{ change, from, folder: waitsIn || "." }] : [];
  });
  // A folder may have an access list for each new file in it, which is not this file's.
  const names = [...new Set(candidates.flatMap(({ from, folder }) => [from, folder]))];
  const found = await listAttributes(root, names);
  const known = new Set(names.filter((_, index) => found?.has(index)));
  return new Map(
    candidates
      .filter(({ from, folder }) => known.has(from) || known.has(folder))
      .map(({ change, from }) => [change, from]),
  );
}

/** True when the pre-image is the very file. */
async function save(room: PreImageRoom, change: PlannedChange, target: string): Promise<boolean> {
  room.step(`save ${change.path}`);
  try {
    await room.anchor.at(change.path, (path) => link(path, target));
    return true;
  } catch (error) {
    // Another disk, a file of someone else, no hard links here, or too many.
    if (!hasCode(error, "EXDEV", "EPERM", "ENOTSUP", "ENOSYS", "EMLINK")) throw error;
    await copy(room, change, target);
    return false;
  }
}

async function copy(
  { anchor }: PreImageRoom,
  { path, before }: PlannedChange,
  target: string,
): Promise<void> {
  const { bytes = 0, blocks = 0 } = before ?? {};
  await using(await anchor.at(path, openToRead), (handle) => copyContent({ handle, bytes, blocks }, target));
  await using(await openToRead(target), (handle) => handle.sync());
}

/** Changes that are to be made, all or none. */
interface CommitOrder {
  set: ChangeSet;
  plan: Omit<Plan, "version" | "changes" | "folders">;
  /** The record's folder; it must not be there. */
  record: string;
  /** Folders' times to be set at the end, where nobody else changed them. */
  times?: readonly PlannedFolder[];
  log: FolderLog;
  step: StepHook;
  /** Hears of the plan before it can be on disk, and of nothing once the record is closed again. */
  onRecord?: (plan: Plan | undefined) => void;
}

export type Committed = { ok: true; plan: Plan } | { ok: false; conflicts: FileConflict[] };

/**
 * Makes changes in a workspace: first what is needed to take them back goes to disk, then the changes are made, then they
 * are checked. On a conflict nothing is changed. On any error everything is taken back, and it rejects with E3914 when
 * the workspace was seen to be as before, with E3912 otherwise; the record then stays for `recover`.
 */
export async function commit(order: CommitOrder): Promise<Committed> {
  try {
    return await commitAnchored(order);
  } catch (error) {
    // Once the plan is on disk only errors of ours come here: anything else came before the first change.
    throw error instanceof SallyportError ? error : notCommitted(order.plan.root, error);
  }
}

function commitAnchored(order: CommitOrder): Promise<Committed> {
  return anchored(order.plan.root, async (anchor) => {
    const conflicts = await findConflicts(anchor, order.set);
    if (conflicts.length > 0) return { ok: false, conflicts };
    const changes = planChanges(order.set);
    const folders = await lookAtFolders(anchor, busyFolders(changes));
    if ("conflicts" in folders) return { ok: false, conflicts: folders.conflicts };
    const plan: Plan = { version: 1, ...order.plan, changes, folders: folders.found };
    const attributes = await record(anchor, order, plan);
    return makeChanges(anchor, { ...order, attributes }, plan);
  });
}

async function findConflicts(anchor: Anchor, { changes, leaders }: ChangeSet): Promise<FileConflict[]> {
  const conflicts: FileConflict[] = [];
  await eachOf([...changes, ...leaders], 8, async (change) => {
    const { path, before } = change;
    const now = await lookIfOpen(anchor, path);
    if (now === "closed") return void conflicts.push({ path, what: "in a folder that cannot be opened" });
    if (now && before && now.ctimeNs === before.ctimeNs && now.inode === before.inode) return;
    if (now?.type === "file" && now.bytes === before?.bytes) {
      const sha256 = await hashAt(anchor, path, now);
      if (sha256 !== undefined) now.sha256 = sha256;
    }
    if (!matches(now, before)) conflicts.push({ path, what: whatChanged(before, now) });
    // The same by content: from here on this is the one that counts.
    else if (now && before) Object.assign(before, now);
  });
  return conflicts.sort((left, right) => (left.path < right.path ? -1 : 1));
}

async function lookIfOpen(anchor: Anchor, path: string): Promise<Entry | undefined | "closed"> {
  try {
    return await look(anchor, path);
  } catch (error) {
    if (hasCode(error, "EACCES")) return "closed";
    throw error;
  }
}

async function lookAtFolders(
  anchor: Anchor,
  paths: readonly string[],
): Promise<{ found: PlannedFolder[] } | { conflicts: FileConflict[] }> {
  const found: PlannedFolder[] = [];
  for (const path of paths) {
    const folder = await lookAtFolder(anchor, path);
    if (folder?.type !== "folder") return { conflicts: [{ path, what: DELETED }] };
    found.push({ path, mode: folder.mode, mtimeNs: folder.mtimeNs });
  }
  return { found };
}

/** Once this resolves, whatever follows can be taken back after a crash. */
async function record(
  anchor: Anchor,
  order: CommitOrder,
  plan: Plan,
): Promise<ReadonlyMap<PlannedChange, string>> {
  const { record, step } = order;
  step("make the record");
  if (!(await makeFolder(record))) throw outOfTurn(`Call ${plan.callId} has changes on record already.`);
  order.onRecord?.(plan);
  try {
    const [attributes, copied] = await Promise.all([
      attributeSources(order, plan),
      savePreImages({ anchor, record, step }, plan.changes),
    ]);
    for (const change of attributes.keys()) if (copied.has(change)) throw notKept(change);
    step("write the plan");
    await writeJson(join(record, "plan.json"), plan, { sync: true });
    await syncFolder(join(record, ".."));
    return attributes;
  } catch (error) {
    await closeAfter(error, order, plan);
    throw notCommitted(plan.root, error);
  }
}

function notKept({ path }: PlannedChange): Error {
  const why = "the state folder is on another disk, or the file is someone else's";
  return new Error(`the access list or attributes of ${path} could not be kept for an undo, as ${why}`);
}

/** The workspace is as before. A record that stays all the same is closed by the rollback or at the next start. */
async function closeAfter(error: unknown, order: CommitOrder, plan: Plan): Promise<void> {
  await twice(() => closeRecord(order.record)).catch((cause: unknown) => {
    throw notCommitted(plan.root, new AggregateError([error, cause], `${wordsOf(error)}; ${wordsOf(cause)}`));
  });
  order.onRecord?.(undefined);
}

async function makeChanges(
  anchor: Anchor,
  order: CommitOrder & { attributes: ReadonlyMap<PlannedChange, string> },
  plan: Plan,
): Promise<Committed> {
  try {
    await carryOut(anchor, order, plan);
    await note(anchor, order.log, plan);
    return { ok: true, plan };
  } catch (error) {
    const { left } = await restore({ plan, record: order.record, anchor, step: order.step });
    if (left.length > 0)
      throw notRestored(
        plan.root,
        left.map(({ path }) => path),
        error,
      );
    await closeAfter(error, order, plan);
    if (error instanceof ConcurrentChangeError) return { ok: false, conflicts: [error.conflict] };
    throw notCommitted(plan.root, error);
  }
}

/** So that calls running beside this one know that these changes in the folders were ours. */
async function note(anchor: Anchor, log: FolderLog, plan: Plan): Promise<void> {
  const names = Map.groupBy(plan.changes, ({ path }) => folderOf(path));
  for (const { path, mtimeNs } of plan.folders) {
    // Another call that runs beside this one then takes the folder for changed, which is safe.
    const folder = await lookAtFolder(anchor, path).catch(() => undefined);
    const changed = new Set((names.get(path) ?? []).map((change) => nameOf(change.path)));
    if (folder) log.add({ folder: join(plan.root, path), from: mtimeNs, to: folder.mtimeNs, names: changed });
  }
}
