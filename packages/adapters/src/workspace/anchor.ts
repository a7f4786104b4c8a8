import { constants } from "node:fs";
import { join } from "node:path";
import { type FileHandle, lstat, open } from "./disk.ts";
import { folderOf, isWithin, nameOf } from "./relative-path.ts";
import { systemError } from "./system-error.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
/** Linux: a handle that only names a place; needs no permission to read it. Node has no constant for it. */
const O_PATH = process.platform === "linux" ? 0o10000000 : O_RDONLY;
/** Linux lets a process reach what is in an open folder whatever becomes of the folder's name. */
const HAS_PROC = process.platform === "linux";
const MOST_OPEN = 200;

interface Held {
  handle: FileHandle;
  /** Pieces of work that use the handle now: until they end it must not be closed, as its number would be given again. */
  users: number;
  isForgotten: boolean;
}

/**
 * A folder whose content is reached step by step from an open handle, never through a link: whoever swaps a folder for a
 * link meanwhile gets an error (ENOTDIR), not a way out. Meant for one piece of work: opened folders stay open until
 * `close`, the ones used last. Elsewhere than on Linux each step is checked by name, which leaves a gap between the check and the use.
 */
export class Anchor {
  readonly root: string;
  readonly #open = new Map<string, Held>();

  private constructor(root: string) {
    this.root = root;
  }

  /** Rejects with a system's error when the root is not a folder or is a link. */
  static async open(root: string): Promise<Anchor> {
    const anchor = new Anchor(root);
    if (HAS_PROC) anchor.#open.set("", { handle: await openFolder(root), users: 0, isForgotten: false });
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
    const held = await this.#hold(folder);
    try {
      return await work(`/proc/self/fd/${held.handle.fd}`);
    } finally {
      held.users -= 1;
      if (held.isForgotten) await closeUnused([held]);
      else await this.#trim();
    }
  }

  /** To be called when a folder has been removed or another put in its place. */
  async forget(folder: string): Promise<void> {
    const gone = [...this.#open].filter(([path]) => path !== "" && isWithin(path, folder));
    for (const [path, held] of gone) {
      this.#open.delete(path);
      held.isForgotten = true;
    }
    await closeUnused(gone.map(([, held]) => held));
  }

  /** Safe to repeat. Nothing may be under way. */
  async close(): Promise<void> {
    const all = [...this.#open.values()];
    this.#open.clear();
    await closeUnused(all);
  }

  /** A folder's handle, which stays open at least until its user is done. */
  async #hold(folder: string): Promise<Held> {
    const known = this.#open.get(folder);
    if (known) return this.#use(folder, known);
    return this.at(folder, async (path) => {
      const handle = await openFolder(path);
      const other = this.#open.get(folder);
      if (!other) return this.#use(folder, { handle, users: 0, isForgotten: false });
      const used = this.#use(folder, other);
      await closeUnused([{ handle, users: 0 }]);
      return used;
    });
  }

  /** Moves it to the end of the map: the first ones have not been used for the longest time. */
  #use(folder: string, held: Held): Held {
    held.users += 1;
    this.#open.delete(folder);
    this.#open.set(folder, held);
    return held;
  }

  async #trim(): Promise<void> {
    if (this.#open.size <= MOST_OPEN) return;
    for (const [path, held] of this.#open) {
      if (path === "" || held.users > 0) continue;
      this.#open.delete(path);
      return closeUnused([held]);
    }
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

/** These handles only name folders: an error of closing one says nothing about the work that was done. */
async function closeUnused(all: readonly Pick<Held, "handle" | "users">[]): Promise<void> {
  await Promise.allSettled(all.filter(({ users }) => users === 0).map(({ handle }) => handle.close()));
}
