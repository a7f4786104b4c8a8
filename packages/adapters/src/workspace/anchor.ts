import { constants } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";
import { join } from "node:path";
import { folderOf, isWithin, nameOf } from "./relative-path.ts";
import { systemError } from "./system-error.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** Linux: a handle that only names a place; needs no permission to read it. Node has no constant for it. */
const O_PATH = process.platform === "linux" ? 0o10000000 : O_RDONLY;
/** Linux lets a process reach what is in an open folder whatever becomes of the folder's name. */
const HAS_PROC = process.platform === "linux";
const MOST_OPEN = 200;

/**
 * A folder whose content is reached step by step from an open handle, never through a link: whoever swaps a folder for a
 * link meanwhile gets an error (ENOTDIR), not a way out. Meant for one piece of work: opened folders stay open until
 * `close`. Elsewhere than on Linux each step is checked by name, which leaves a gap between the check and the use.
 */
export class Anchor {
  readonly root: string;
  readonly #open = new Map<string, FileHandle>();

  private constructor(root: string) {
    this.root = root;
  }

  /** Rejects with a system's error when the root is not a folder or is a link. */
  static async open(root: string): Promise<Anchor> {
    const anchor = new Anchor(root);
    if (HAS_PROC) anchor.#open.set("", await openFolder(root));
    else if (!(await lstat(root)).isDirectory()) throw systemError("ENOTDIR", root);
    return anchor;
  }

  /** Does something with an entry, by a name that leads to its folder safely. The entry itself may be a link. */
  async at<T>(path: string, work: (safePath: string) => Promise<T>): Promise<T> {
    return this.within(folderOf(path), (folder) => work(`${folder}/${nameOf(path)}`));
  }

  /** Does something with what is in a folder. */
  async within<T>(folder: string, work: (safePath: string) => Promise<T>): Promise<T> {
    if (!HAS_PROC) return work(await this.#checked(folder));
    const known = this.#open.get(folder);
    if (known) return work(nameFor(known));
    return this.at(folder, async (path) => {
      const handle = await openFolder(path);
      if (this.#open.size < MOST_OPEN && !this.#open.has(folder)) {
        this.#open.set(folder, handle);
        return work(nameFor(handle));
      }
      return work(nameFor(handle)).finally(() => handle.close());
    });
  }

  /** To be called when a folder has been removed or another put in its place. */
  async forget(folder: string): Promise<void> {
    const gone = [...this.#open].filter(([path]) => path !== "" && isWithin(path, folder));
    for (const [path] of gone) this.#open.delete(path);
    await Promise.all(gone.map(([, handle]) => handle.close()));
  }

  /** Safe to repeat. */
  async close(): Promise<void> {
    const handles = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(handles.map((handle) => handle.close()));
  }

  async #checked(folder: string): Promise<string> {
    let path = this.root;
    for (const part of folder === "" ? [] : folder.split("/")) {
      path = join(path, part);
      if (!(await lstat(path)).isDirectory()) throw systemError("ENOTDIR", path);
    }
    return path;
  }
}

/** Works in a folder and lets go of it afterwards. */
export async function anchored<T>(root: string, work: (anchor: Anchor) => Promise<T>): Promise<T> {
  const anchor = await Anchor.open(root);
  try {
    return await work(anchor);
  } finally {
    await anchor.close();
  }
}

function openFolder(path: string): Promise<FileHandle> {
  return open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
}

function nameFor(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}
