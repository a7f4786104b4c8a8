import { failure, SallyportError } from "@sallyport/protocol";
import type { FileAccess, FileEntry } from "../ports/workspace.ts";
import type { HostedUse } from "./tool-host.ts";

type Action = "read" | "list" | "write" | "delete";

const CAPABILITY: Record<Action, string> = {
  read: "filesystem.read",
  list: "filesystem.read",
  write: "filesystem.write",
  delete: "filesystem.delete",
};

/** A call's files, each access being a use of a capability of the tool. Rejects with E3105 where there is no workspace. */
export class GuardedFiles implements FileAccess {
  readonly #files: FileAccess | undefined;
  readonly #use: (use: HostedUse) => void;

  constructor(files: FileAccess | undefined, use: (use: HostedUse) => void) {
    this.#files = files;
    this.#use = use;
  }

  async read(path: string): Promise<Buffer> {
    return await this.#open("read", path).read(path);
  }

  async write(path: string, content: string | Uint8Array, options?: { mode?: number }): Promise<void> {
    await this.#open("write", path, Buffer.byteLength(content)).write(path, content, options);
  }

  async remove(path: string, options?: { recursive?: boolean }): Promise<void> {
    await this.#open("delete", path).remove(path, options);
  }

  async rename(from: string, to: string): Promise<void> {
    this.#open("delete", from);
    await this.#open("write", to).rename(from, to);
  }

  async makeFolder(path: string): Promise<void> {
    await this.#open("write", path).makeFolder(path);
  }

  async link(path: string, target: string): Promise<void> {
    await this.#open("write", path).link(path, target);
  }

  async setMode(path: string, mode: number): Promise<void> {
    await this.#open("write", path).setMode(path, mode);
  }

  async list(path: string): Promise<FileEntry[]> {
    return await this.#open("list", path).list(path);
  }

  async stat(path: string): Promise<FileEntry | undefined> {
    return await this.#open("read", path).stat(path);
  }

  #open(action: Action, resource: string, bytes?: number): FileAccess {
    this.#use({ capability: CAPABILITY[action], action, resource, bytes });
    if (this.#files) return this.#files;
    const message = "The tool has no workspace: its manifest permits no folder, or this house has none.";
    throw new SallyportError(failure("E3105", { message }));
  }
}
