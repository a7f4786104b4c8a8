import { isUtf8 } from "node:buffer";
import { lstat, readdir } from "node:fs/promises";
import type { FileAccess, FileEntry } from "@sallyport/engine/ports";
import { anchored } from "../workspace/anchor.ts";
import { codeOf } from "./problems.ts";

/** One name in a folder; without `entry` it could not be looked at. */
export interface FoundName {
  name: string;
  entry?: Pick<FileEntry, "type" | "bytes" | "modifiedAt">;
  /** False for a name that had to be written with replacement characters: nothing can be reached by it. */
  reachable: boolean;
}

/** Reads one folder of the workspace. Rejects with a system's error when it cannot be read. */
export type FolderReader = (relative: string) => Promise<FoundName[]>;

/**
 * A call's own folders. Names that are not UTF-8, and folders whose entries cannot be looked at, are out of the files'
 * reach; they are looked up in the workspace, once the files have let the folder pass.
 */
export function folderReader(files: Pick<FileAccess, "list">, root: string): FolderReader {
  return async (relative) => {
    try {
      const listed = (await files.list(relative)).map((entry) => ({
        name: entry.name,
        entry,
        reachable: true,
      }));
      return [...listed, ...(await foundIn(root, relative, (name) => !isUtf8(name)))];
    } catch (error) {
      if (codeOf(error) !== "EACCES") throw error;
      return await foundIn(root, relative, () => true);
    }
  };
}

function foundIn(root: string, relative: string, wanted: (name: Buffer) => boolean): Promise<FoundName[]> {
  return anchored(root, (anchor) =>
    anchor.within(relative === "." ? "" : relative, async (folder) => {
      const names = await readdir(`${folder}/.`, { encoding: "buffer" });
      return Promise.all(names.filter(wanted).map((name) => lookAt(folder, name)));
    }),
  );
}

async function lookAt(folder: string, name: Buffer): Promise<FoundName> {
  const found = { name: name.toString("utf8"), reachable: isUtf8(name) };
  try {
    const stats = await lstat(Buffer.concat([Buffer.from(`${folder}/`), name]));
    const type = stats.isFile()
      ? "file"
      : stats.isDirectory()
        ? "folder"
        : stats.isSymbolicLink()
          ? "symlink"
          : "other";
    return { ...found, entry: { type, bytes: stats.size, modifiedAt: Math.trunc(stats.mtimeMs) } };
  } catch {
    return found;
  }
}
