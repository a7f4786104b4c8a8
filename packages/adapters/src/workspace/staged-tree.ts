import type { Anchor } from "./anchor.ts";
import type { Content } from "./change.ts";
import { type Entry, look, namesIn } from "./entry.ts";
import { below } from "./relative-path.ts";
import type { StagedEntry } from "./staged-entry.ts";
import { systemError } from "./system-error.ts";

/** Something a call in this process put into its workspace, so far only here. */
export type StagedNode =
  | StagedFile
  | StagedFolder
  | { type: "symlink"; target: string; mtimeNs: string }
  | Gone;

export interface StagedFile {
  type: "file";
  mode: number;
  bytes: number;
  blocks: number;
  mtimeNs: string;
  content: Content;
}

export interface StagedFolder {
  type: "folder";
  mode: number;
  mtimeNs: string;
  /** What the workspace has in it does not show. */
  opaque: boolean;
  children: Map<string, StagedNode>;
}

/** Was there before, and is no more. */
export interface Gone {
  type: "gone";
}

/** What the call sees at a path: its own, or the workspace's. */
export type Visible = { staged: Exclude<StagedNode, Gone> } | { real: Entry };

/** The changes of one call, laid over the workspace. Paths are lists of parts, free of links. */
export class StagedTree {
  readonly #top: StagedFolder = { type: "folder", mode: 0, mtimeNs: "0", opaque: false, children: new Map() };

  readonly #adopted: (path: string, folder: Entry) => void;

  /** `adopted` hears of every folder of the workspace in which something is staged: it has to stay there. */
  constructor(adopted: (path: string, folder: Entry) => void) {
    this.#adopted = adopted;
  }

  get isEmpty(): boolean {
    return this.#top.children.size === 0;
  }

  /** What is there; undefined when nothing is. */
  async find(anchor: Anchor, parts: readonly string[]): Promise<Visible | undefined> {
    let folder: StagedFolder = this.#top;
    for (const [index, part] of parts.entries()) {
      const child = folder.children.get(part);
      if (child === undefined) return folder.opaque ? undefined : real(anchor, parts);
      if (child.type === "gone") return undefined;
      if (index === parts.length - 1) return { staged: child };
      if (child.type !== "folder") return undefined;
      folder = child;
    }
    return real(anchor, ["."]);
  }

  /** Names in a folder that is there. */
  async names(anchor: Anchor, parts: readonly string[]): Promise<string[]> {
    const staged = this.#folderAt(parts);
    const own = [...(staged?.children ?? [])];
    const gone = new Set(own.map(([name]) => name));
    const shown = staged?.opaque ? [] : await this.#realNames(anchor, parts);
    return [
      ...shown.filter((name) => !gone.has(name)),
      ...own.filter(([, { type }]) => type !== "gone").map(([name]) => name),
    ].sort();
  }

  /** Puts something at a path whose folder is there. */
  async put(anchor: Anchor, parts: readonly string[], node: StagedNode): Promise<void> {
    const folder = await this.#makeFolder(anchor, parts.slice(0, -1));
    folder.children.set(parts.at(-1) ?? "", node);
  }

  /** Takes away what is at a path. */
  async remove(anchor: Anchor, parts: readonly string[]): Promise<void> {
    const folder = await this.#makeFolder(anchor, parts.slice(0, -1));
    const name = parts.at(-1) ?? "";
    const covers = !folder.opaque && (await real(anchor, parts)) !== undefined;
    if (covers) folder.children.set(name, { type: "gone" });
    else folder.children.delete(name);
  }

  /** Everything staged, folders before what is in them. */
  entries(): StagedEntry[] {
    return entriesIn(this.#top, "");
  }

  #folderAt(parts: readonly string[]): StagedFolder | undefined {
    let folder: StagedFolder = this.#top;
    for (const part of parts) {
      const child = folder.children.get(part);
      if (child?.type !== "folder")
        return child === undefined && !folder.opaque
          ? undefined
          : { ...this.#top, opaque: true, children: new Map() };
      folder = child;
    }
    return folder;
  }

  async #realNames(anchor: Anchor, parts: readonly string[]): Promise<string[]> {
    const entry = await real(anchor, parts.length === 0 ? ["."] : parts);
    return entry?.real.type === "folder" ? (await namesIn(anchor, parts.join("/"))).names : [];
  }

  /** The folder as a staged one; it stays what it is until something in it or about it changes. */
  async #makeFolder(anchor: Anchor, parts: readonly string[]): Promise<StagedFolder> {
    let folder: StagedFolder = this.#top;
    for (const [index, part] of parts.entries()) {
      const child =
        folder.children.get(part) ?? (await this.#adopt(anchor, folder, parts.slice(0, index + 1)));
      if (child.type !== "folder") throw systemError("ENOTDIR", parts.join("/"));
      folder = child;
    }
    return folder;
  }

  async #adopt(anchor: Anchor, folder: StagedFolder, parts: readonly string[]): Promise<StagedFolder> {
    const found = folder.opaque ? undefined : await real(anchor, parts);
    if (found?.real.type !== "folder") throw systemError("ENOENT", parts.join("/"));
    this.#adopted(parts.join("/"), found.real);
    const { mode, mtimeNs } = found.real;
    const child: StagedFolder = { type: "folder", mode, mtimeNs, opaque: false, children: new Map() };
    folder.children.set(parts.at(-1) ?? "", child);
    return child;
  }
}

async function real(anchor: Anchor, parts: readonly string[]): Promise<{ real: Entry } | undefined> {
  const entry = await look(anchor, parts.join("/"));
  return entry && { real: entry };
}

function entriesIn(folder: StagedFolder, path: string): StagedEntry[] {
  return [...folder.children].flatMap(([name, node]) => {
    const at = below(path, name);
    return node.type === "folder" ? [entryFor(node, at), ...entriesIn(node, at)] : [entryFor(node, at)];
  });
}

function entryFor(node: StagedNode, path: string): StagedEntry {
  const plain = { path, mode: 0o777, bytes: 0, blocks: 0, mtimeNs: "0" };
  if (node.type === "gone") return { ...plain, type: "whiteout" };
  if (node.type === "symlink") return { ...plain, ...node };
  if (node.type === "file") return { ...plain, ...node };
  const { type, mode, mtimeNs, opaque } = node;
  return { ...plain, type, mode, mtimeNs, opaque };
}
