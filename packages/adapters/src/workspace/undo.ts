import { join } from "node:path";
import type { FileConflict, Undone } from "@sallyport/engine/ports";
import { SallyportError } from "@sallyport/protocol";
import { type Anchor, anchored } from "./anchor.ts";
import type { Change, ChangeSet, Wanted } from "./change.ts";
import { commit } from "./commit.ts";
import { effectsOf } from "./effects.ts";
import { type Entry, lookInto, namesIn } from "./entry.ts";
import { closeOpened, leavesClosed, openFound } from "./examine.ts";
import { notCommitted, notRestored, notUndone } from "./failures.ts";
import { openOwn, sha256Of, using } from "./file-content.ts";
import { matches } from "./matches.ts";
import { changesInPlace, oldContent, type Plan, type PlannedChange } from "./plan.ts";
import { digestOf } from "./proof.ts";
import {
  changedFolders,
  contentOf,
  type RecordStatus,
  readPlan,
  readStatus,
  writeStatus,
} from "./records.ts";
import { below } from "./relative-path.ts";
import { removeTree } from "./remove-tree.ts";
import { hasCode, twice } from "./system-error.ts";
import { takeBack } from "./take-back.ts";
import { recordOf, recordsFolder, type WorkspaceContext } from "./workspace-context.ts";

/**
 * Takes a kept call back: the other way round it is a change like any other, with a plan and pre-images of its own. The
 * effects are those of the undo. It counts from the moment the call's record says so.
 */
export async function undo(context: WorkspaceContext, callId: string): Promise<Undone> {
  const record = recordOf(context, callId);
  try {
    const [status, plan] = [await readStatus(record), await readPlan(record)];
    if (status?.state === "undone") return { ok: false, reason: "already_undone" };
    if (status?.state === "expired") return { ok: false, reason: "expired" };
    if (status?.state !== "kept" || !plan) return { ok: false, reason: "unknown" };
    return await context.turns.run(plan.root, async () => {
      await endEarlier(context, plan);
      if (!plan.changes.some(leavesClosed)) return takeKeptBack(context, record, { plan, status });
      await writeStatus(record, { ...status, opened: true }, { sync: true });
      try {
        return await takeKeptBack(context, record, { plan, status });
      } finally {
        if ((await readStatus(record))?.opened) await closeAgain(record, { plan, status });
      }
    });
  } catch (error) {
    // Errors of the commit are ours: anything else came before it changed something.
    throw error instanceof SallyportError ? error : notUndone(callId, error);
  }
}

/** Closes the folders that an undo opened and did not take away. */
export async function closeAgain(
  record: string,
  { plan, status: { opened: _, ...status } }: { plan: Plan; status: RecordStatus },
): Promise<void> {
  await anchored(plan.root, (anchor) => closeOpened(anchor, plan));
  await writeStatus(record, status, { sync: true });
}

/** The record of an undo of that call. */
function undoRecord(context: WorkspaceContext, plan: Plan): string {
  return join(recordsFolder(context), `${plan.key}.undo`);
}

/** An undo that went wrong before is taken back first. Rejects with E3912 when that is not possible. */
async function endEarlier(context: WorkspaceContext, plan: Plan): Promise<void> {
  const record = undoRecord(context, plan);
  const earlier = await readPlan(record);
  const back = earlier && (await takeBack(context, record, { plan: earlier }));
  if (back?.verified === false) throw notRestored(plan.root, pathsOf(back.left));
  await removeTree(record);
}

async function takeKeptBack(
  context: WorkspaceContext,
  record: string,
  { plan, status }: { plan: Plan; status: RecordStatus },
): Promise<Undone> {
  const { settings, log } = context;
  const looked = await lookAround(plan, { record, status });
  if ("conflicts" in looked) return { ok: false, reason: "changed_since", conflicts: looked.conflicts };
  const { set, times } = looked;
  const effects = await anchored(plan.root, (anchor) => effectsOf(set, anchor, settings.bounds));
  const { callId, root } = plan;
  const undoing = {
    purpose: "undo",
    callId,
    key: `${plan.key}.undo`,
    root,
    at: settings.clock.now(),
    digest: digestOf(set.changes),
  } as const;
  const own = undoRecord(context, plan);
  const committed = await commit({ set, plan: undoing, record: own, times, log, step: settings.step });
  if (!committed.ok) return { ok: false, reason: "changed_since", conflicts: committed.conflicts };
  try {
    settings.step("write that it is undone");
    const undone = { state: "undone", at: settings.clock.now(), bytes: 0 } as const;
    await twice(() => writeStatus(record, undone, { sync: true }));
  } catch (error) {
    // The status may be there and not be on disk: what the call's record says has to hold either way.
    const back = await takeBack(context, own, { plan: committed.plan });
    if (!back.verified) throw notRestored(root, pathsOf(back.left), error);
    await twice(() => writeStatus(record, status, { sync: true })).catch((cause: unknown) => {
      throw notRestored(root, [record], cause);
    });
    throw notCommitted(root, error);
  }
  settings.step("drop the pre-images");
  // What cannot be removed now is reported, and removed at the next start.
  for (const path of [own, ...contentOf(record)]) await context.drop(path);
  return { ok: true, effects, verified: true };
}

const pathsOf = (left: readonly FileConflict[]) => left.map(({ path }) => path);

/** What the undo would change, or what speaks against it. */
async function lookAround(
  plan: Plan,
  { record, status }: { record: string; status: RecordStatus },
): Promise<{ set: ChangeSet; times: Plan["folders"] } | { conflicts: FileConflict[] }> {
  return anchored(plan.root, async (anchor) => {
    const conflicts: FileConflict[] = [];
    const changes: Change[] = [];
    for (const [index, change] of plan.changes.entries()) {
      const now = await lookIfOpen(anchor, change);
      const what = await objection(change, now, { anchor, plan, old: oldContent(record, index) });
      if (what !== undefined) conflicts.push({ path: change.path, what });
      else changes.push(reversed(change, now === "closed" ? undefined : now, oldContent(record, index)));
    }
    if (conflicts.length > 0) return { conflicts };
    const moved = await changedFolders(anchor, plan, status.times ?? []);
    const times = plan.folders.filter(({ path }) => !moved.has(path));
    return { set: { changes, denied: [], conflicts: [], bytes: 0, leaders: [] }, times };
  });
}

/** A folder that the call closed is opened, and seen as it was: what is in it comes after it. */
async function lookIfOpen(anchor: Anchor, change: PlannedChange): Promise<Entry | undefined | "closed"> {
  try {
    const isOpened = await openFound(anchor, change);
    const now = await lookInto(anchor, change.path);
    return now && isOpened ? { ...now, mode: change.after?.mode ?? now.mode } : now;
  } catch (error) {
    if (hasCode(error, "EACCES")) return "closed";
    throw error;
  }
}

interface Surroundings {
  anchor: Anchor;
  plan: Plan;
  old: string;
}

async function objection(
  change: PlannedChange,
  now: Entry | undefined | "closed",
  { anchor, plan, old }: Surroundings,
): Promise<string | undefined> {
  const { path, before, after } = change;
  if (now === "closed") return "in a folder that cannot be opened";
  if (!matches(now, after)) return now ? "changed since" : "deleted since";
  if (change.old && before && !(await isIntact(old, before))) return "changed through another name since";
  if (after?.type !== "folder" || before?.type === "folder") return undefined;
  const known = new Set(plan.changes.map((one) => one.path));
  const { names, unreadable } = await namesIn(anchor, path);
  const more = names.find((name) => !known.has(below(path, name))) ?? unreadable[0];
  return more === undefined ? undefined : `given something new since (${more})`;
}

async function isIntact(old: string, { sha256, bytes = 0 }: Entry): Promise<boolean> {
  if (sha256 === undefined) return true;
  return using(await openOwn(old), async (handle) => (await sha256Of(handle, bytes)) === sha256);
}

function reversed(change: PlannedChange, now: Entry | undefined, old: string): Change {
  const { path, before } = change;
  const inPlace = changesInPlace(change);
  const wanted: Wanted | undefined = before && {
    ...before,
    owner: { uid: before.uid, gid: before.gid },
    // Its bits alone change again, also where its content can be read only now.
    ...(inPlace && now?.sha256 !== undefined && { sha256: now.sha256 }),
    ...(before.type === "file" && {
      content: inPlace ? { kind: "workspace", path } : { kind: "original", path: old },
    }),
  };
  return {
    path,
    ...(now && now.type !== "other" && { before: { ...now, type: now.type } }),
    ...(wanted && { after: wanted }),
  };
}
