import { join } from "node:path";
import type { FileAccess, FileEntry } from "@sallyport/engine/ports";
import { type Anchor, anchored } from "./anchor.ts";
import type { DeniedTest } from "./denied-paths.ts";
import { mkdir, unlink, writeFile } from "./disk.ts";
import { type Entry, look, lookInto, namesIn } from "./entry.ts";
import { forbidden, tooMuch } from "./failures.ts";
import { openOwn, openToRead, sha256, using } from "./file-content.ts";
import { Queue } from "./in-turn.ts";
import { moveStaged } from "./move-staged.ts";
import { below } from "./relative-path.ts";
import type { Memory, Remembered } from "./remembered-baseline.ts";
import { resolvePath } from "./resolve-path.ts";
import type { StagedEntry } from "./staged-entry.ts";
import { type StagedFile, type StagedNode, StagedTree, type Visible } from "./staged-tree.ts";
import { hasCode, systemError } from "./system-error.ts";

/** What staged files are about. */
export interface StagedFilesOrder {
  root: string;
  isDenied: DeniedTest;
  maxBytes: number;
  /** Where new content is kept; made when it is needed. */
  folder: string;
  now: () => number;
  /** Called before each use; throws when the files may not be used now. */
  guard: (use: "read" | "change") => void;
}

/** A call's files in this process: what it changes is kept apart, what it reads is the workspace with its changes. */
export class StagedFiles implements FileAccess {
  readonly #order: StagedFilesOrder;
  readonly #queue = new Queue();
  readonly #memory = new Map<string, Remembered | undefined>();
  readonly #tree = new StagedTree((path, folder) => {
    if (!this.#memory.has(path)) this.#memory.set(path, folder);
  });
  #bytes = 0;
  #blobs = 0;
  #edits = 0;

  constructor(order: StagedFilesOrder) {
    this.#order = order;
  }

  get isUnchanged(): boolean {
    return this.#tree.isEmpty;
  }

  /** How often something was changed. */
  get edits(): number {
    return this.#edits;
  }

  /** What the call found where it looked. */
  get memory(): Memory {
    return this.#memory;
  }

  entries(): StagedEntry[] {
    return this.#tree.entries();
  }

  read(path: string): Promise<Buffer> {
    return this.#use("read", async (anchor) => {
      const parts = await this.#resolve(anchor, path, { follow: true });
      const found = await this.#find(anchor, parts, path);
      if (typeOf(found) === "folder") throw systemError("EISDIR", path);
      if (typeOf(found) !== "file") throw forbidden(path, "is not a file");
      if ("real" in found) return this.#readReal(anchor, parts.join("/"), found.real);
      const { content } = found.staged as StagedFile;
      const handle = await (content.kind === "workspace"
        ? anchor.at(content.path, openToRead)
        : openOwn(content.path));
      return using(handle, (open) => open.readFile());
    });
  }

  write(path: string, content: string | Uint8Array, options: { mode?: number } = {}): Promise<void> {
    const bytes = Buffer.from(content);
    return this.#use("change", async (anchor) => {
      const parts = await this.#resolve(anchor, path, { follow: true });
      const found = await this.#tree.find(anchor, parts);
      if (parts.length === 0 || (found && typeOf(found) === "folder")) throw systemError("EISDIR", path);
      if (found && typeOf(found) !== "file") throw forbidden(path, "is not a file");
      const mode = (options.mode ?? (found ? modeOf(found) : 0o644)) & 0o7777;
      await this.#remember(anchor, parts.join("/"));
      const old = ownFiles(found);
      await this.#tree.put(anchor, parts, await this.#store(bytes, mode, old));
      await this.#drop(old);
    });
  }

  remove(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    return this.#use("change", async (anchor) => {
      const parts = await this.#resolve(anchor, path, { follow: false });
      const found = await this.#find(anchor, parts, path);
      if (parts.length === 0) throw forbidden(path, "is the workspace itself");
      if (
        typeOf(found) === "folder" &&
        !options.recursive &&
        (await this.#tree.names(anchor, parts)).length > 0
      )
        throw systemError("ENOTEMPTY", path);
      await this.#rememberTree(anchor, parts.join("/"));
      await this.#tree.remove(anchor, parts);
      await this.#drop(ownFiles(found));
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#use("change", async (anchor) => {
      const source = await this.#resolve(anchor, from, { follow: false });
      const target = await this.#resolve(anchor, to, { follow: false });
      const { isDenied } = this.#order;
      const remember = (path: string) => this.#rememberTree(anchor, path);
      const replaced = await this.#tree.find(anchor, target);
      const isMoved = await moveStaged(
        { tree: this.#tree, anchor, isDenied, remember },
        { source, target, from, to },
      );
      if (isMoved) await this.#drop(ownFiles(replaced));
    });
  }

  makeFolder(path: string): Promise<void> {
    return this.#use("change", async (anchor) => {
      const parts = await this.#newPlace(anchor, path);
      const node = { type: "folder", mode: 0o755, opaque: true, children: new Map() } as const;
      await this.#tree.put(anchor, parts, { ...node, mtimeNs: this.#nowNs() });
    });
  }

  link(path: string, target: string): Promise<void> {
    return this.#use("change", async (anchor) => {
      if (target === "" || target.includes("\0") || !target.isWellFormed())
        throw forbidden(target, "is not a path a link can have");
      const parts = await this.#newPlace(anchor, path);
      await this.#tree.put(anchor, parts, { type: "symlink", target, mtimeNs: this.#nowNs() });
    });
  }

  setMode(path: string, mode: number): Promise<void> {
    return this.#use("change", async (anchor) => {
      const parts = await this.#resolve(anchor, path, { follow: true });
      const found = await this.#find(anchor, parts, path);
      if (parts.length === 0) throw forbidden(path, "is the workspace itself");
      await this.#remember(anchor, parts.join("/"));
      await this.#setMode(anchor, { parts, found, mode: mode & 0o7777 });
    });
  }

  list(path: string): Promise<FileEntry[]> {
    return this.#use("read", async (anchor) => {
      const parts = await this.#resolve(anchor, path, { follow: true });
      const folder = await this.#find(anchor, parts, path);
      if (typeOf(folder) !== "folder") throw systemError("ENOTDIR", path);
      const names = await this.#tree.names(anchor, parts);
      const shown = names.filter((name) => !this.#order.isDenied(below(parts.join("/"), name)));
      const found = await Promise.all(shown.map((name) => this.#tree.find(anchor, [...parts, name])));
      return found.flatMap((visible, index) => (visible ? [fileEntry(shown[index] ?? "", visible)] : []));
    });
  }

  stat(path: string): Promise<FileEntry | undefined> {
    return this.#use("read", async (anchor) => {
      try {
        const parts = await this.#resolve(anchor, path, { follow: false });
        const found = await this.#tree.find(anchor, parts);
        return found && fileEntry(parts.at(-1) ?? ".", found);
      } catch (error) {
        if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
        throw error;
      }
    });
  }

  #use<T>(use: "read" | "change", work: (anchor: Anchor) => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      this.#order.guard(use);
      if (use === "change") this.#edits += 1;
      return anchored(this.#order.root, work);
    });
  }

  #resolve(anchor: Anchor, path: string, how: { follow: boolean }): Promise<string[]> {
    const { root, isDenied } = this.#order;
    const at = async (parts: readonly string[]) => {
      const found = await this.#tree.find(anchor, parts);
      return found && ("real" in found ? found.real : found.staged);
    };
    return resolvePath(path, { root, isDenied, at }, how);
  }

  async #find(anchor: Anchor, parts: readonly string[], path: string): Promise<Visible> {
    const found = await this.#tree.find(anchor, parts);
    if (!found) throw systemError("ENOENT", path);
    return found;
  }

  async #newPlace(anchor: Anchor, path: string): Promise<string[]> {
    const parts = await this.#resolve(anchor, path, { follow: false });
    if (parts.length === 0 || (await this.#tree.find(anchor, parts))) throw systemError("EEXIST", path);
    await this.#remember(anchor, parts.join("/"));
    return parts;
  }

  async #readReal(anchor: Anchor, path: string, entry: Entry): Promise<Buffer> {
    const content = await using(await anchor.at(path, openToRead), (open) => open.readFile());
    if (!this.#memory.has(path))
      this.#memory.set(path, { ...entry, bytes: content.length, sha256: sha256(content) });
    return content;
  }

  /** Keeps what is there now, unless the call looked before: a change since then is someone else's. */
  async #remember(anchor: Anchor, path: string): Promise<void> {
    if (!this.#memory.has(path)) this.#memory.set(path, await lookInto(anchor, path));
  }

  async #rememberTree(anchor: Anchor, path: string): Promise<void> {
    if (this.#order.isDenied(path)) throw forbidden(path, "must not be changed");
    await this.#remember(anchor, path);
    if ((await look(anchor, path))?.type !== "folder") return;
    const { names } = await namesIn(anchor, path);
    for (const name of names) await this.#rememberTree(anchor, below(path, name));
  }

  /** `instead`: files of ours whose room is free once this one is accepted. */
  async #store(bytes: Buffer, mode: number, instead: readonly StagedFile[]): Promise<StagedFile> {
    const { folder, maxBytes } = this.#order;
    const freed = instead.reduce((sum, file) => sum + file.bytes, 0);
    if (this.#bytes - freed + bytes.length > maxBytes)
      throw tooMuch(`The call may change at most ${maxBytes} bytes of files.`, {
        limit: "disk",
        allowed: maxBytes,
      });
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${this.#blobs++}`);
    await writeFile(path, bytes, { mode: 0o600, flag: "wx" });
    this.#bytes += bytes.length;
    const blocks = Math.ceil(bytes.length / 512);
    const content = { kind: "own", path } as const;
    return { type: "file", mode, bytes: bytes.length, blocks, mtimeNs: this.#nowNs(), content };
  }

  /** Gives the room of files of ours back that the tree does not show any more. */
  async #drop(files: readonly StagedFile[]): Promise<void> {
    for (const { content, bytes } of files) {
      await unlink(content.path);
      this.#bytes -= bytes;
    }
  }

  async #setMode(
    anchor: Anchor,
    { parts, found, mode }: { parts: string[]; found: Visible; mode: number },
  ): Promise<void> {
    if ("staged" in found) {
      if (found.staged.type === "symlink") throw forbidden(parts.join("/"), "is a link");
      found.staged.mode = mode;
      return;
    }
    const { type, mtimeNs, bytes = 0, blocks } = found.real;
    if (type === "folder")
      return this.#tree.put(anchor, parts, { type, mode, mtimeNs, opaque: false, children: new Map() });
    if (type !== "file") throw forbidden(parts.join("/"), "is not a file");
    const content = { kind: "workspace", path: parts.join("/") } as const;
    await this.#tree.put(anchor, parts, { type, mode, mtimeNs, bytes, blocks, content });
  }

  #nowNs(): string {
    return `${BigInt(Math.round(this.#order.now())) * 1_000_000n}`;
  }
}

function typeOf(found: Visible): FileEntry["type"] {
  return "real" in found ? found.real.type : found.staged.type;
}

/** Files with content of our own at a path and below. The content of each is in the tree once. */
function ownFiles(found: Visible | undefined): StagedFile[] {
  return found && "staged" in found ? ownFilesIn(found.staged) : [];
}

function ownFilesIn(node: StagedNode): StagedFile[] {
  if (node.type === "folder") return [...node.children.values()].flatMap(ownFilesIn);
  return node.type === "file" && node.content.kind === "own" ? [node] : [];
}

function modeOf(found: Visible): number {
  const node = "real" in found ? found.real : found.staged;
  return node.type === "symlink" ? 0o777 : node.mode;
}

function fileEntry(name: string, found: Visible): FileEntry {
  const node = "real" in found ? found.real : found.staged;
  const bytes = node.type === "file" ? (node.bytes ?? 0) : 0;
  const modifiedAt = Number(BigInt(node.mtimeNs) / 1_000_000n);
  return { name, type: node.type, bytes, mode: modeOf(found), modifiedAt };
}
