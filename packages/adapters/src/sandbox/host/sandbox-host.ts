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
import { basename, join } from "node:path";
import { failure, SallyportError } from "@sallyport/protocol";
import { type Cgroups, openCgroups } from "../cgroup/index.ts";
import { findLauncher, type HostUser } from "../launcher/index.ts";
import { DEFAULT_USER, type SandboxOptions } from "../options.ts";
import { GUEST } from "../plan/guest-paths.ts";
import { readSystemLayout, type SystemLayout } from "../plan/system-layout.ts";
import { isFilterArch, seccompFilter } from "../seccomp/index.ts";
import { isOwnerAlive, ownMark } from "./process-mark.ts";
import { makeSettingsFolder } from "./settings-folder.ts";

interface RuntimeFoldersOrder {
  runtimeFolder: string;
  launcher: string;
  /** The filters' bytes by file name; empty where there are none for this architecture. */
  filters: Readonly<Record<string, Buffer>>;
  system: SystemLayout;
  /** True when sandboxes run as somebody else, who cannot enter our own folders. */
  isShared: boolean;
}

/**
 * The folders a sandbox process needs besides its order's: `own` belongs to us alone; `public` holds nothing secret and
 * can be entered by the sandbox's user. What is mounted in `public` is seen by one backend alone.
 */
class RuntimeFolders {
  readonly #own: string;
  readonly #public: string;
  readonly #points = new Map<string, Promise<string>>();

  private constructor(own: string, open: string) {
    this.#own = own;
    this.#public = open;
  }

  /** Rejects with SallyportError E3101 when they cannot be made. */
  static async make(order: RuntimeFoldersOrder): Promise<RuntimeFolders> {
    try {
      await mkdir(order.runtimeFolder, { recursive: true, mode: 0o700 });
      await sweep(order.runtimeFolder);
      const own = join(order.runtimeFolder, `${ownMark()}-${randomBytes(2).toString("hex")}`);
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
    const folder = join(this.#own, randomBytes(4).toString("hex"));
    await mkdir(folder, { mode: 0o711 });
    await chmod(folder, 0o711);
    const names = await readdir(join(this.#own, "base"));
    await Promise.all(names.map((name) => link(join(this.#own, "base", name), join(folder, name))));
    return folder;
  }

  /** A folder that the sandbox's user can enter once it is given to him. Remove it with the run. */
  async makeFolder(): Promise<string> {
    return mkdtemp(join(this.#public, "run-"));
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
  const stale = (await readdir(folder)).filter((name) => !isOwnerAlive(name));
  await Promise.all(
    stale.map(async (name) => {
      const shared = await readlink(join(folder, name, PUBLIC)).catch(() => "");
      if (shared.startsWith(SHARED_PREFIX)) await clear(shared);
      await clear(join(folder, name));
    }),
  );
}

/** What cannot be removed is reported, and keeps no sandbox from being made. */
async function clear(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch((error: Error) =>
    process.emitWarning(`${path} could not be removed; the next start tries again: ${error.message}`),
  );
}

function unusable(why: string, folder: string): SallyportError {
  return new SallyportError(
    failure("E3101", {
      retryable: true,
      message: `The folder for sandboxes, ${folder}, cannot be used: ${why}.`,
      advice:
        "Free space on its disk, or choose a state folder in which this user may write (`--state-dir`).",
    }),
  );
}

/** What every run of this process has in common; found out and made once. */
export interface SandboxHost {
  launcher: string;
  system: SystemLayout;
  folders: RuntimeFolders;
  /** Undefined where groups cannot be made, or are not wanted. */
  cgroups: Cgroups | undefined;
  /** Who sandboxes run as, on the host. */
  user: HostUser;
  /** True when that is somebody else than us. */
  isRoot: boolean;
}

/** Rejects with SallyportError E3101 when there is no launcher, or no place for what it needs. */
export async function openHost(options: SandboxOptions): Promise<SandboxHost> {
  const launcher = findLauncher();
  if ("missing" in launcher) {
    throw new SallyportError(
      failure("E3101", {
        message: `No sandbox: ${launcher.missing}.`,
        advice: launcher.fix,
        retryable: false,
      }),
    );
  }
  const isRoot = process.getuid?.() === 0;
  const system = await readSystemLayout();
  const cgroups = options.cgroups === "off" ? undefined : await openCgroups();
  const folders = await RuntimeFolders.make({
    runtimeFolder: options.runtimeFolder,
    launcher: launcher.path,
    filters: filterFiles(process.arch, { sharedMemory: cgroups !== undefined }),
    system,
    isShared: isRoot,
  });
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const user = isRoot ? (options.user ?? DEFAULT_USER) : self;
  return { launcher: launcher.path, system, folders, cgroups, user, isRoot };
}

function filterFiles(arch: string, { sharedMemory }: { sharedMemory: boolean }): Record<string, Buffer> {
  if (!isFilterArch(arch)) return {};
  return {
    [basename(GUEST.filter)]: seccompFilter({ arch, notify: true, sharedMemory }),
    [basename(GUEST.quietFilter)]: seccompFilter({ arch, notify: false, sharedMemory }),
  };
}

/** Ends what `openHost` made. */
export async function closeHost(host: SandboxHost): Promise<void> {
  await host.cgroups?.close();
  await host.folders.remove();
}
