import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type Anchor, anchored } from "./anchor.ts";
import type { Stamp } from "./baseline.ts";
import { copyContent } from "./copy-content.ts";
import type { DeniedTest } from "./denied-paths.ts";
import { chmod, chown, lchown, lstat, lutimes, mkdir, symlink, utimes, writeFile } from "./disk.ts";
import { type Entry, entryOf, look, namesIn } from "./entry.ts";
import { tooMuch } from "./failures.ts";
import { openToRead, using } from "./file-content.ts";
import { secondsOf } from "./file-times.ts";
import { eachOf } from "./in-turn.ts";
import type { SandboxUser } from "./overlay-view.ts";
import { below } from "./relative-path.ts";
import { hasCode } from "./system-error.ts";

/** The coarsest clock a kernel stamps files with; two changes further apart than this have different stamps. */
const CLOCK_TICK_MS = 12;
const AT_ONCE = 8;

/** What a copied view is to be made of. */
export interface CopyOrder {
  root: string;
  /** Where to; it must not be there. */
  target: string;
  isDenied: DeniedTest;
  limitBytes: number;
  limitFiles: number;
  user?: SandboxUser | undefined;
}

/** An entry of the workspace and its copy. */
export interface Copied {
  original: Entry;
  copy: Stamp;
  /** An empty one stands for a file or folder this user may not read. */
  standIn: boolean;
}

/**
 * Copies a workspace, denied paths left out. Hard links become separate files, as they do in an overlay. Resolves with
 * what was copied, by path. Rejects with E3102 when it is larger than the limits.
 */
export function makeCopy(order: CopyOrder): Promise<Map<string, Copied>> {
  return anchored(order.root, async (anchor) => {
    const originals = await survey(anchor, order);
    const top = entryOf(await lstat(order.root, { bigint: true }));
    await mkdir(order.target, { mode: 0o700 });
    const room: Room = { anchor, order, owner: top, copied: new Map() };
    const folders = [...originals].filter(([, { type }]) => type === "folder");
    for (const [path] of folders) await mkdir(join(order.target, path), { mode: 0o700 });
    const rest = [...originals].filter(([, { type }]) => type !== "folder");
    await eachOf(rest, AT_ONCE, ([path, entry]) => copyOne(room, path, entry));
    for (const [path, entry] of folders.toReversed()) await finishFolder(room, path, entry);
    await chmod(order.target, top.mode);
    if (order.user) await chown(order.target, order.user.uid, order.user.gid);
    await wait(CLOCK_TICK_MS);
    return room.copied;
  });
}

interface Room {
  anchor: Anchor;
  order: CopyOrder;
  owner: { uid: number; gid: number };
  copied: Map<string, Copied>;
}

async function survey(anchor: Anchor, order: CopyOrder): Promise<Map<string, Entry>> {
  const found = new Map<string, Entry>();
  let bytes = 0;
  const visit = async (folder: string): Promise<void> => {
    for (const name of await readableNames(anchor, folder)) {
      const path = below(folder, name);
      const entry = order.isDenied(path) ? undefined : await look(anchor, path);
      if (!entry || entry.type === "other") continue;
      found.set(path, entry);
      bytes += entry.type === "file" ? Math.min(entry.bytes ?? 0, entry.blocks * 512) : 0;
      if (found.size > order.limitFiles) throw tooMany(order, "files", order.limitFiles);
      if (bytes > order.limitBytes) throw tooMany(order, "bytes", order.limitBytes);
      if (entry.type === "folder") await visit(path);
    }
  };
  await visit("");
  return found;
}

function tooMany({ root }: CopyOrder, what: "files" | "bytes", allowed: number) {
  const message = `${root} has more than the ${allowed} ${what} that may be copied for one call, and this host offers no copy-on-write view.`;
  return tooMuch(message, { limit: what === "files" ? "copyLimitFiles" : "copyLimitBytes", allowed });
}

async function readableNames(anchor: Anchor, folder: string): Promise<string[]> {
  try {
    return (await namesIn(anchor, folder)).names;
  } catch (error) {
    if (hasCode(error, "EACCES")) return [];
    throw error;
  }
}

async function copyOne(room: Room, path: string, entry: Entry): Promise<void> {
  const target = join(room.order.target, path);
  let standIn = false;
  if (entry.type === "symlink") {
    await symlink(entry.target ?? "", target);
    await lutimes(target, secondsOf(entry.mtimeNs), secondsOf(entry.mtimeNs));
  } else {
    standIn = !(await copyFile(room, { path, entry, target }));
    await chmod(target, entry.mode & 0o1777);
    await utimes(target, secondsOf(entry.mtimeNs), secondsOf(entry.mtimeNs));
  }
  await giveAway(room, target, entry);
  await note(room, path, { original: entry, standIn });
}

/** False when it may not be read, and is empty. */
async function copyFile(
  { anchor }: Room,
  { path, entry, target }: { path: string; entry: Entry; target: string },
): Promise<boolean> {
  try {
    const { bytes = 0, blocks } = entry;
    await using(await anchor.at(path, openToRead), (handle) =>
      copyContent({ handle, bytes, blocks }, target),
    );
    return true;
  } catch (error) {
    if (!hasCode(error, "EACCES")) throw error;
    await writeFile(target, "", { flag: "wx", mode: 0o600 });
    return false;
  }
}

async function finishFolder(room: Room, path: string, entry: Entry): Promise<void> {
  const target = join(room.order.target, path);
  await giveAway(room, target, entry);
  await utimes(target, secondsOf(entry.mtimeNs), secondsOf(entry.mtimeNs));
  await chmod(target, entry.mode);
  await note(room, path, { original: entry, standIn: false });
}

/** What belongs to the workspace's owner belongs to the sandbox's user in the copy; the rest stays whose it is. */
async function giveAway({ order, owner }: Room, target: string, entry: Entry): Promise<void> {
  if (!order.user) return;
  const uid = entry.uid === owner.uid ? order.user.uid : entry.uid;
  const gid = entry.gid === owner.gid ? order.user.gid : entry.gid;
  await lchown(target, uid, gid);
}

async function note(room: Room, path: string, known: Omit<Copied, "copy">): Promise<void> {
  const stats = await lstat(join(room.order.target, path), { bigint: true });
  room.copied.set(path, { ...known, copy: entryOf(stats) });
}
