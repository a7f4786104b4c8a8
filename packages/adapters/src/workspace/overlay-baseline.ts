import { join } from "node:path";
import type { Anchor } from "./anchor.ts";
import { type Baseline, EDITED } from "./baseline.ts";
import { type Entry, look } from "./entry.ts";
import type { FolderLog } from "./folder-log.ts";
import { folderOf, nameOf } from "./relative-path.ts";

const FOLDER_CHANGED = "its folder was changed by someone else, so it may have been there before";

/**
 * Tells others' changes by times alone: the tree is never walked when a view is made, whatever its size. The kernel
 * stamps every change of a file, its bits or its name (ctime) and every change of what is in a folder (mtime); whatever
 * has a later stamp than the view's own folder changed while the call ran.
 */
export class OverlayBaseline implements Baseline {
  readonly #anchor: Anchor;
  readonly #since: bigint;
  readonly #log: FolderLog;

  constructor(anchor: Anchor, since: string, log: FolderLog) {
    this.#anchor = anchor;
    this.#since = BigInt(since);
    this.#log = log;
  }

  async objection(path: string, now: Entry | undefined): Promise<string | undefined> {
    if (now) return BigInt(now.ctimeNs) > this.#since ? EDITED : undefined;
    return this.#absence(path);
  }

  /** Nothing is there; was nothing there before? Yes when nothing happened in the nearest folder that is there. */
  async #absence(path: string): Promise<string | undefined> {
    const folder = folderOf(path);
    const parent = folder === "" ? await this.#root() : await look(this.#anchor, folder);
    if (parent === undefined) return this.#absence(folder);
    // A file where the call made a folder: that is for the folder's own path to say.
    if (parent.type !== "folder" || BigInt(parent.mtimeNs) <= this.#since) return undefined;
    const place = { folder: join(this.#anchor.root, folder), name: nameOf(path) };
    return this.#log.spares(place, { since: this.#since, now: parent.mtimeNs }) ? undefined : FOLDER_CHANGED;
  }

  async #root(): Promise<Entry | undefined> {
    return look(this.#anchor, ".");
  }
}
