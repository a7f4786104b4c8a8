import { randomBytes } from "node:crypto";
import {
  chmod,
  copyFile,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failure, SallyportError } from "@sallyport/protocol";
import type { SystemLayout } from "../plan/system-layout.ts";
import { makeSettingsFolder } from "./settings-folder.ts";

export interface RuntimeFoldersOrder {
  runtimeFolder: string;
  launcher: string;
  /** The filters' bytes by file name; empty where there are none for this architecture. */
  filters: Readonly<Record<string, Buffer>>;
  system: SystemLayout;
  /** True when sandboxes run as somebody else, who cannot enter our own folders. */
  isShared: boolean;
}

/** Leaves room for a run's folder and the socket in it: a socket's path has at most 107 letters. */
const LONGEST_FOLDER = 70;

/**
 * The folders a sandbox process needs besides its order's: `own` belongs to us alone; `public` holds nothing secret and
 * can be entered by the sandbox's user. What is mounted in `public` is seen by one backend alone.
 */
export class RuntimeFolders {
  readonly #own: string;
  readonly #public: string;
  readonly #points = new Map<string, Promise<string>>();

  private constructor(own: string, open: string) {
    this.#own = own;
    this.#public = open;
  }

  /** Rejects with SallyportError E3101 when they cannot be made. */
  static async make(order: RuntimeFoldersOrder): Promise<RuntimeFolders> {
    if (order.runtimeFolder.length > LONGEST_FOLDER) {
      throw unusable(`its path is longer than ${LONGEST_FOLDER} letters`, order.runtimeFolder);
    }
    try {
      await mkdir(order.runtimeFolder, { recursive: true, mode: 0o700 });
      await sweep(order.runtimeFolder);
      const own = join(order.runtimeFolder, `${process.pid}-${randomBytes(3).toString("hex")}`);
      await mkdir(own, { mode: 0o700 });
      const open = order.isShared ? await mkdtemp(SHARED_PREFIX) : join(own, PUBLIC);
      // So that whoever comes after a crash finds it.
      if (order.isShared) await symlink(open, join(own, PUBLIC));
      const folders = new RuntimeFolders(own, open);
      await folders.#fill(order);
      return folders;
    } catch (error) {
      throw unusable(error instanceof Error ? error.message : String(error), order.runtimeFolder);
    }
  }

  /** What stands in for /etc. */
  get settings(): string {
    return join(this.#public, "etc");
  }

  /** What is seen at /run/sallyport by runs without network. */
  get guest(): string {
    return join(this.#public, "guest");
  }

  /** Empty, and nobody can write in it. */
  get emptyFolder(): string {
    return join(this.#public, "empty");
  }

  /** Folders of ours that a sandbox sees parts of. */
  get all(): readonly string[] {
    return [this.#own, this.#public];
  }

  /** A place where the launcher can mount something; the same name gives the same place, for every run its own. */
  point(name: string, kind: "folder" | "file"): Promise<string> {
    const path = join(this.#public, `at-${kind}-${name}`);
    const made = this.#points.get(path) ?? makePoint(path, kind);
    this.#points.set(path, made);
    return made;
  }

  /** A run's own stand-in for `guest`, in which its socket can be made. Remove it with the run. */
  async makeGuest(): Promise<string> {
    const folder = join(this.#own, randomBytes(6).toString("hex"));
    await mkdir(folder, { mode: 0o711 });
    await chmod(folder, 0o711);
    const names = await readdir(join(this.#own, "base"));
    await Promise.all(names.map((name) => link(join(this.#own, "base", name), join(folder, name))));
    return folder;
  }

  /** A folder that the sandbox's user can enter once it is given to him. Remove it with the run. */
  async makeBundle(): Promise<string> {
    return mkdtemp(join(this.#public, "oci-"));
  }

  async remove(): Promise<void> {
    await rm(this.#public, { recursive: true, force: true });
    await rm(this.#own, { recursive: true, force: true });
  }

  async #fill(order: RuntimeFoldersOrder): Promise<void> {
    await mkdir(this.#public, { recursive: true });
    await chmod(this.#public, 0o711);
    const base = join(this.#own, "base");
    await mkdir(base);
    await copyFile(order.launcher, join(base, LAUNCHER));
    for (const [name, bytes] of Object.entries(order.filters)) await writeFile(join(base, name), bytes);
    await Promise.all([
      makeSettingsFolder(this.settings, order.system),
      copyFolder(base, this.guest),
      mkdir(this.emptyFolder),
    ]);
    for (const folder of [base, this.settings, this.guest]) await makeReadable(folder);
    await chmod(this.emptyFolder, 0o555);
  }
}

const LAUNCHER = "launcher";

/** Whatever this process's umask says, the sandbox's user has to be able to read it; links need nothing. */
async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await makeReadable(path);
    if (entry.isFile()) await chmod(path, entry.name === LAUNCHER ? 0o755 : 0o644);
  }
}

async function makePoint(path: string, kind: "folder" | "file"): Promise<string> {
  await (kind === "folder" ? mkdir(path) : writeFile(path, ""));
  return path;
}

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to);
  await Promise.all((await readdir(from)).map((name) => copyFile(join(from, name), join(to, name))));
}

const PUBLIC = "public";
const SHARED_PREFIX = join(tmpdir(), "sallyport-");

/** Removes what processes that are no more left behind. */
async function sweep(folder: string): Promise<void> {
  const stale = (await readdir(folder)).filter((name) => /^\d+-[0-9a-f]{6}$/.test(name) && !isAlive(name));
  await Promise.all(
    stale.map(async (name) => {
      const shared = await readlink(join(folder, name, PUBLIC)).catch(() => "");
      if (shared.startsWith(SHARED_PREFIX)) await rm(shared, { recursive: true, force: true });
      await rm(join(folder, name), { recursive: true, force: true });
    }),
  );
}

function isAlive(name: string): boolean {
  try {
    return process.kill(Number.parseInt(name, 10), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function unusable(why: string, folder: string): SallyportError {
  return new SallyportError(
    failure("E3101", {
      message: `The runtime folder ${folder} cannot be used: ${why}.`,
      advice: "Set the sandbox's runtime folder to a short path in which this user may write.",
    }),
  );
}
