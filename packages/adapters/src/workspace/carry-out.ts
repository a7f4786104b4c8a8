import { copyAttributes } from "../sandbox/launcher/index.ts";
import type { Anchor } from "./anchor.ts";
import { CREATED, whatChanged } from "./baseline.ts";
import type { ChangeSet } from "./change.ts";
import { ConcurrentChangeError } from "./concurrent-change.ts";
import { link, mkdir, rename, rmdir, unlink } from "./disk.ts";
import type { StepHook } from "./durable.ts";
import { look, lookInto } from "./entry.ts";
import { setMode } from "./file-mode.ts";
import { type FolderFinish, finishFolders, openFolders } from "./folder-access.ts";
import { eachOf } from "./in-turn.ts";
import { isUntouched, matches } from "./matches.ts";
import {
  changesInPlace,
  type Plan,
  type PlannedChange,
  type PlannedFolder,
  swapsFolder,
  temporaryName,
} from "./plan.ts";
import { putContent } from "./put-content.ts";
import { below } from "./relative-path.ts";
import type { SmallContents } from "./small-contents.ts";
import { hasCode } from "./system-error.ts";

const AT_ONCE = 16;

interface Carrying {
  anchor: Anchor;
  step: StepHook;
  plan: Plan;
  owner: { uid: number; gid: number };
  small: SmallContents | undefined;
}

/** Does what a plan says, in an order that works at every point: new content first, beside where it will be. */
export async function carryOut(
  anchor: Anchor,
  order: {
    step: StepHook;
    times?: readonly PlannedFolder[];
    set: ChangeSet;
    /** Paths whose access lists and attributes the new files get. */
    attributes: ReadonlyMap<PlannedChange, string>;
  },
  plan: Plan,
): Promise<void> {
  const { step, times, set, attributes } = order;
  const owner = (await look(anchor, ".")) ?? { uid: 0, gid: 0 };
  const work: Carrying = { anchor, step, plan, owner, small: set.small };
  const { changes } = plan;
  await openFolders(anchor, plan.folders, step);
  await makeTemporaries(work);
  await keepAttributes(work, attributes);
  for (const change of changes.toReversed()) if (goes(change)) await takeAway(work, change);
  for (const change of changes) if (becomesFolder(change)) await makeFolder(work, change);
  const numbered = changes.map((change, index) => ({ change, index }));
  await eachOf(numbered, AT_ONCE, ({ change, index }) => putInPlace(work, change, index));
  await eachOf(changes, AT_ONCE, (change) => verify(work, change));
  step("finish the folders");
  await finishFolders(anchor, finishes(work, times));
}

const goes = ({ before, after }: PlannedChange) =>
  before !== undefined && (after === undefined || swapsFolder(before, after));
const becomesFolder = ({ before, after }: PlannedChange) =>
  after?.type === "folder" && before?.type !== "folder";

/** First those that others become links to. */
async function makeTemporaries(work: Carrying): Promise<void> {
  const waiting = work.plan.changes
    .map((change, index) => ({ change, index }))
    .filter(({ change }) => change.waitsIn !== undefined);
  const [links, files] = [true, false].map((isLink) =>
    waiting.filter(({ change }) => (change.after?.linkTo !== undefined) === isLink),
  );
  await eachOf(files ?? [], AT_ONCE, ({ change, index }) => makeTemporary(work, change, index));
  const indexes = new Map(work.plan.changes.map(({ path }, index) => [path, index]));
  for (const { change, index } of links ?? []) {
    const leader = indexes.get(change.after?.linkTo ?? "") ?? -1;
    await linkTemporary(work, change, { index, leader });
  }
}

async function keepAttributes(work: Carrying, sources: ReadonlyMap<PlannedChange, string>): Promise<void> {
  const { plan, step } = work;
  if (sources.size === 0) return;
  step("keep attributes");
  const pairs = plan.changes.flatMap((change, index) => {
    const from = sources.get(change);
    return from === undefined ? [] : [{ from, to: temporaryPath(work, change, index) }];
  });
  await copyAttributes(plan.root, pairs);
}

function temporaryPath({ plan }: Carrying, change: PlannedChange, index: number): string {
  return below(change.waitsIn ?? "", temporaryName(plan.key, "new", index));
}

async function makeTemporary(work: Carrying, change: PlannedChange, index: number): Promise<void> {
  const { anchor, owner, step, small } = work;
  const { after, before, path } = change;
  if (!after) return;
  step(`prepare ${path}`);
  const bytes = small?.get("after", path);
  const content = { wanted: after, owner: after.owner ?? before ?? owner, anchor, bytes };
  await anchor.at(temporaryPath(work, change, index), (temporary) => putContent(temporary, content));
}

async function linkTemporary(
  work: Carrying,
  change: PlannedChange,
  { index, leader }: { index: number; leader: number },
): Promise<void> {
  const { plan, anchor, step } = work;
  const planned = plan.changes[leader];
  const isWaiting = planned?.waitsIn !== undefined;
  const source = isWaiting ? temporaryPath(work, planned, leader) : (change.after?.linkTo ?? "");
  step(`link ${change.path}`);
  await anchor.at(source, (from) => anchor.at(temporaryPath(work, change, index), (to) => link(from, to)));
}

/** The last look before a path changes: whatever came between is someone else's work. */
async function expect({ anchor }: Carrying, { path, before }: PlannedChange): Promise<void> {
  const now = await look(anchor, path);
  if (!isUntouched(now, before)) throw new ConcurrentChangeError({ path, what: whatChanged(before, now) });
}

async function takeAway(work: Carrying, change: PlannedChange): Promise<void> {
  const { anchor, step } = work;
  const { path, before } = change;
  await expect(work, change);
  step(`remove ${path}`);
  if (before?.type !== "folder") return anchor.at(path, unlink);
  await anchor.forget(path);
  try {
    await anchor.at(path, rmdir);
  } catch (error) {
    if (hasCode(error, "ENOTEMPTY", "EEXIST"))
      throw new ConcurrentChangeError({ path, what: `${CREATED} (something in it)` });
    throw error;
  }
}

async function makeFolder({ anchor, step }: Carrying, { path }: PlannedChange): Promise<void> {
  step(`make ${path}`);
  try {
    await anchor.at(path, (folder) => mkdir(folder, { mode: 0o700 }));
  } catch (error) {
    if (hasCode(error, "EEXIST")) throw new ConcurrentChangeError({ path, what: CREATED });
    throw error;
  }
}

async function putInPlace(work: Carrying, change: PlannedChange, index: number): Promise<void> {
  const { anchor, step } = work;
  const { path, before, after } = change;
  if (changesInPlace(change)) return changeMode(work, change);
  if (change.waitsIn === undefined || !after) return;
  const temporary = temporaryPath(work, change, index);
  if (before === undefined || before.type === "folder") return placeNew(work, { path, temporary });
  await expect(work, change);
  step(`replace ${path}`);
  await anchor.at(temporary, (from) => anchor.at(path, (to) => rename(from, to)));
}

/** Never over something: a link cannot replace what is there, a rename would. */
async function placeNew(
  { anchor, step }: Carrying,
  { path, temporary }: { path: string; temporary: string },
): Promise<void> {
  step(`place ${path}`);
  await anchor.at(temporary, (from) =>
    anchor.at(path, async (to) => {
      try {
        await link(from, to);
      } catch (error) {
        if (hasCode(error, "EEXIST")) throw new ConcurrentChangeError({ path, what: CREATED });
        if (!hasCode(error, "EPERM", "ENOTSUP", "ENOSYS", "EMLINK")) throw error;
        return rename(from, to);
      }
      step(`tidy ${path}`);
      await unlink(from);
    }),
  );
}

async function changeMode(work: Carrying, change: PlannedChange): Promise<void> {
  const { anchor, step } = work;
  const { path, before, after } = change;
  await expect(work, change);
  step(`mode ${path}`);
  const mode = after?.mode ?? before?.mode ?? 0;
  await anchor.at(path, (file) => setMode(file, mode));
}

function finishes({ plan, owner }: Carrying, times: readonly PlannedFolder[] = []): FolderFinish[] {
  const finishes = new Map<string, FolderFinish>();
  for (const { path, mode } of plan.folders) finishes.set(path, { path, mode });
  for (const { path, mtimeNs } of times) {
    const folder = finishes.get(path);
    if (folder) folder.mtimeNs = mtimeNs;
  }
  for (const { path, before, after } of plan.changes) {
    if (after?.type !== "folder") finishes.delete(path);
    else if (before?.type === "folder") finishes.set(path, { ...finishes.get(path), path, mode: after.mode });
    else finishes.set(path, { path, mode: after.mode, mtimeNs: after.mtimeNs, owner: after.owner ?? owner });
  }
  return [...finishes.values()];
}

/**
 * A folder's own bits come last and are checked then. Content that was written from memory is what its hash was taken of:
 * it is not read again.
 */
async function verify({ anchor, small }: Carrying, { path, after }: PlannedChange): Promise<void> {
  const isFromMemory = after?.linkTo === undefined && small?.get("after", path) !== undefined;
  const now = await (isFromMemory ? look(anchor, path) : lookInto(anchor, path));
  const isThere = after?.type === "folder" ? now?.type === "folder" : matches(now, after);
  if (!isThere) throw new Error(`${path} is not what was written`);
}
