import { basename } from "node:path";
import { failure, SallyportError } from "@sallyport/protocol";
import { type Cgroups, openCgroups } from "../cgroup/index.ts";
import { findLauncher, type HostUser } from "../launcher/index.ts";
import { DEFAULT_USER, type SandboxOptions } from "../options.ts";
import { GUEST } from "../plan/guest-paths.ts";
import { readSystemLayout, type SystemLayout } from "../plan/system-layout.ts";
import { isFilterArch, seccompFilter } from "../seccomp/index.ts";
import { RuntimeFolders } from "./runtime-folders.ts";

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
      failure("E3101", { message: `No sandbox: ${launcher.missing}.`, advice: launcher.fix }),
    );
  }
  const isRoot = process.getuid?.() === 0;
  const system = await readSystemLayout();
  const folders = await RuntimeFolders.make({
    runtimeFolder: options.runtimeFolder,
    launcher: launcher.path,
    filters: filterFiles(process.arch),
    system,
    isShared: isRoot,
  });
  const cgroups = options.cgroups === "off" ? undefined : await openCgroups();
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const user = isRoot ? (options.user ?? DEFAULT_USER) : self;
  return { launcher: launcher.path, system, folders, cgroups, user, isRoot };
}

function filterFiles(arch: string): Record<string, Buffer> {
  if (!isFilterArch(arch)) return {};
  return {
    [basename(GUEST.filter)]: seccompFilter({ arch, notify: true }),
    [basename(GUEST.quietFilter)]: seccompFilter({ arch, notify: false }),
  };
}

/** Ends what `openHost` made. */
export async function closeHost(host: SandboxHost): Promise<void> {
  await host.cgroups?.close();
  await host.folders.remove();
}
