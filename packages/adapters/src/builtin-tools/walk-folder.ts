import type { FolderReader, FoundName } from "./folder-reader.ts";
import type { ListArguments } from "./list-arguments.ts";
import { codeOf } from "./problems.ts";

/** Why something in a listing could not be looked at. */
export type ListErrorCode =
  | "metadata_unavailable"
  | "permission_denied"
  | "read_dir_failed"
  | "io_error"
  | "unknown";

/** One entry of a listing, its keys in the order they are given back. */
export interface ListedEntry {
  name: string;
  path: string;
  depth: number;
  type: "file" | "dir" | "symlink" | "other" | "unknown";
  size_bytes: number | null;
  modified_epoch_ms: number | null;
  is_hidden: boolean;
  error_code: ListErrorCode | null;
  error: string | null;
}

/** A folder to be walked. */
export interface Walk {
  read: FolderReader;
  /** Relative to the workspace. */
  from: string;
  wanted: ListArguments;
  /** Whether a path of the workspace is not to be shown at all. */
  isDenied(relative: string): boolean;
  signal: AbortSignal;
}

export interface Walked {
  entries: ListedEntry[];
  /** There was more than was asked for. */
  isCut: boolean;
}

/**
 * Goes through a folder depth first, each folder's names in order, never through a link, until there are as many entries
 * as were asked for. Rejects when the folder itself cannot be read; what is wrong further down is an entry.
 */
export async function walkFolder(walk: Walk): Promise<Walked> {
  const walker = new Walker(walk);
  await walker.visit(await walk.read(walk.from), "", 1);
  return { entries: walker.entries, isCut: walker.isCut };
}

class Walker {
  readonly entries: ListedEntry[] = [];
  isCut = false;
  readonly #walk: Walk;

  constructor(walk: Walk) {
    this.#walk = walk;
  }

  async visit(found: FoundName[], folder: string, depth: number): Promise<void> {
    for (const one of found.toSorted(byName)) {
      if (this.isCut) return;
      this.#walk.signal.throwIfAborted();
      const path = below(folder, one.name);
      if (this.#isShown(one, path)) await this.#take(one, path, depth);
    }
  }

  #isShown({ name }: FoundName, path: string): boolean {
    const { wanted, from, isDenied } = this.#walk;
    return (wanted.hidden || !isHidden(name)) && !isDenied(from === "." ? path : `${from}/${path}`);
  }

  /** A folder's own entry comes before those in it, and says so when it cannot be read. */
  async #take(found: FoundName, path: string, depth: number): Promise<void> {
    const { wanted } = this.#walk;
    const goesIn =
      found.entry?.type === "folder" && found.reachable && wanted.recursive && depth < wanted.maxDepth;
    const inside = goesIn && !this.#isFull ? await this.#read(path) : undefined;
    if (inside && "error" in inside) {
      this.#add({ ...entryOf(found, path, depth), type: "unknown", ...inside });
      return;
    }
    const entry = entryOf(found, path, depth);
    if (isWanted(entry, wanted)) this.#add(entry);
    if (inside && !this.isCut) await this.visit(inside.found, path, depth + 1);
    else if (goesIn && !this.isCut) await this.#lookForMore(path, depth + 1);
  }

  get #isFull(): boolean {
    return this.entries.length >= this.#walk.wanted.maxEntries;
  }

  /** The listing is full: whether anything more would have been in it decides whether it is cut. */
  async #lookForMore(path: string, depth: number): Promise<void> {
    const inside = await this.#read(path);
    if ("error" in inside) this.isCut = true;
    else await this.visit(inside.found, path, depth);
  }

  #add(entry: ListedEntry): void {
    if (this.#isFull) this.isCut = true;
    else this.entries.push(entry);
  }

  async #read(path: string): Promise<{ found: FoundName[] } | Pick<ListedEntry, "error_code" | "error">> {
    const { read, from } = this.#walk;
    try {
      return { found: await read(from === "." ? path : `${from}/${path}`) };
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) throw error;
      return {
        error_code: errorCodes[code] ?? "read_dir_failed",
        error: `cannot read the directory (${code})`,
      };
    }
  }
}

const errorCodes: Readonly<Record<string, ListErrorCode>> = {
  EACCES: "permission_denied",
  EPERM: "permission_denied",
  EIO: "io_error",
};

const TYPES = { file: "file", folder: "dir", symlink: "symlink", other: "other" } as const;

function entryOf({ name, entry }: FoundName, path: string, depth: number): ListedEntry {
  const plain = { name, path, depth };
  if (!entry)
    return {
      ...plain,
      type: "unknown",
      size_bytes: null,
      modified_epoch_ms: null,
      is_hidden: isHidden(name),
      error_code: "metadata_unavailable",
      error: "cannot look at the entry",
    };
  return {
    ...plain,
    type: TYPES[entry.type],
    size_bytes: entry.type === "file" ? entry.bytes : null,
    modified_epoch_ms: Number.isFinite(entry.modifiedAt) ? entry.modifiedAt : null,
    is_hidden: isHidden(name),
    error_code: null,
    error: null,
  };
}

function isWanted({ type }: ListedEntry, { files, dirs, symlinks, other }: ListArguments): boolean {
  switch (type) {
    case "file":
      return files;
    case "dir":
      return dirs;
    case "symlink":
      return symlinks;
    case "other":
      return other;
    case "unknown":
      return true;
  }
}

/** Only the dot counts, on every system. */
function isHidden(name: string): boolean {
  return name.startsWith(".");
}

function below(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

function byName(left: FoundName, right: FoundName): number {
  return left.name < right.name ? -1 : left.name > right.name ? 1 : 0;
}
