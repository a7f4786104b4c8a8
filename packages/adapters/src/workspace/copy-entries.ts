import { join } from "node:path";
import { type Anchor, anchored } from "./anchor.ts";
import { sameStamp } from "./baseline.ts";
import type { Copied } from "./copy-view.ts";
import { chmod } from "./disk.ts";
import { type Entry, look, namesIn } from "./entry.ts";
import { tooMuch } from "./failures.ts";
import { below, byPath, folderOf } from "./relative-path.ts";
import type { StagedEntry } from "./staged-entry.ts";
import { hasCode } from "./system-error.ts";

/** How a copied view differs from what was copied, in the words of an overlay. */
export function copyEntries(copy: string, copied: ReadonlyMap<string, Copied>): Promise<StagedEntry[]> {
  return anchored(copy, async (anchor) => {
    const unfit: StagedEntry[] = [];
    const present = await survey(anchor, unfit);
    const isFolder = (path: string) => path === "" || present.get(path)?.type === "folder";
    const missing = [...copied.keys()].filter((path) => !present.has(path) && isFolder(folderOf(path)));
    const standIns = new Map(
      [...copied.values()].filter(({ standIn }) => standIn).map((one) => [one.copy.inode, one]),
    );
    const entries = [...present].flatMap(([path, entry]) => {
      const before = copied.get(path);
      if (before && isUntouched(before, entry)) return [];
      const staged = stagedOf({ copy, path }, entry, before);
      const isMoved = before?.copy.inode !== entry.inode && isStandIn(entry, standIns.get(entry.inode));
      return [isMoved ? { ...staged, unfit: "is a file that cannot be read, under another name" } : staged];
    });
    return [...entries, ...missing.map(whiteout), ...unfit].sort(byPath);
  });
}

function isUntouched({ copy, original }: Copied, now: Entry): boolean {
  // By where it leads: a link that is made anew may get the inode of the old one.
  if (copy.type === "symlink" && now.type === "symlink") return original.target === now.target;
  return sameStamp(copy, now) && (now.type === "folder" || now.nlink === 1);
}

async function survey(anchor: Anchor, unfit: StagedEntry[]): Promise<Map<string, Entry>> {
  const present = new Map<string, Entry>();
  const visit = async (folder: string): Promise<void> => {
    const { names, unreadable } = await ownNames(anchor, folder);
    for (const name of unreadable)
      unfit.push({ ...whiteout(below(folder, name)), unfit: "has a name that is not text" });
    for (const path of names.map((name) => below(folder, name))) {
      if (Buffer.byteLength(join(anchor.root, path)) >= MOST_PATH_BYTES) throw tooLong();
      const entry = await look(anchor, path);
      if (entry) present.set(path, entry);
      if (entry?.type === "folder") await visit(path);
    }
  };
  await visit("");
  return present;
}

/** The kernel's PATH_MAX: by a longer name nobody can open, compare or put back a file. */
const MOST_PATH_BYTES = 4096;

function tooLong() {
  const message = `The call made a path of more than ${MOST_PATH_BYTES} bytes, which no program can open by name.`;
  return tooMuch(message, { limit: "pathBytes", allowed: MOST_PATH_BYTES });
}

/** The copy is ours: a folder that may not be read is opened up. Its mode has been noted by then. */
async function ownNames(anchor: Anchor, folder: string) {
  try {
    return await namesIn(anchor, folder);
  } catch (error) {
    if (!hasCode(error, "EACCES")) throw error;
    await (folder === "" ? chmod(anchor.root, 0o700) : anchor.at(folder, (path) => chmod(path, 0o700)));
    return namesIn(anchor, folder);
  }
}

function stagedOf(
  { copy, path }: { copy: string; path: string },
  entry: Entry,
  before: Copied | undefined,
): StagedEntry {
  const { mode, bytes = 0, blocks, mtimeNs, target } = entry;
  const plain = { path, mode, bytes, blocks, mtimeNs };
  if (entry.type === "other")
    return { ...plain, type: "device", unfit: "is neither file, folder nor plain link" };
  if (entry.type !== "file") return { ...plain, type: entry.type, ...(target !== undefined && { target }) };
  const file: StagedEntry = {
    ...plain,
    type: "file",
    content: { kind: "own", path: join(copy, path) },
    ...(entry.nlink > 1 && { inode: entry.inode }),
  };
  if (!before || !isStandIn(entry, before)) return file;
  const { original } = before;
  return {
    ...file,
    bytes: original.bytes ?? 0,
    mtimeNs: original.mtimeNs,
    content: { kind: "workspace", path },
  };
}

/** Whether it is still the empty file that stands for one this user may not read, and not another one in its place. */
function isStandIn(entry: Entry, copied: Copied | undefined): boolean {
  if (copied?.standIn !== true || entry.inode !== copied.copy.inode) return false;
  return entry.bytes === 0 && entry.mtimeNs === copied.copy.mtimeNs;
}

function whiteout(path: string): StagedEntry {
  return { path, type: "whiteout", mode: 0, bytes: 0, blocks: 0, mtimeNs: "0" };
}
