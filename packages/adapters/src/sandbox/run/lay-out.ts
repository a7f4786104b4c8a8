import { chownSync, statSync } from "node:fs";
import { readFile, realpath, rm } from "node:fs/promises";
import type { SandboxOrder } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import { boundMode } from "../bounds/bound-mode.ts";
import type { SandboxHost } from "../host/sandbox-host.ts";
import type { HostUser, SuperviseOptions } from "../launcher/index.ts";
import { isWithin, movedPath } from "../plan/paths.ts";
import type { SeenSystem } from "../plan/plan-mounts.ts";
import type { ResolvedMount, ResolvedOrder } from "../plan/resolve-order.ts";
import type { PlannedBind } from "../plan/sandbox-plan.ts";
import { splitFolder } from "./split-folder.ts";

/** Where a run's folders are found: by the launcher first, then by the backend. */
export interface RunLayout {
  /** Workspace and mounts, as the backend sees them. */
  binds: PlannedBind[];
  system: SeenSystem;
  /** What is seen at /run/sallyport, as the backend sees it. */
  guest: string;
  launcher: Pick<SuperviseOptions, "overlay" | "binds" | "idmap" | "views">;
}

type LauncherBind = NonNullable<SuperviseOptions["binds"]>[number];
type LauncherView = NonNullable<SuperviseOptions["views"]>[number];

/** What the launcher takes, less what we mount ourselves. */
const MOST_MOUNTS = 500;

/**
 * Decides what the launcher has to mount before the backend starts: an overlay over all that is only read, and the
 * workspace's view. A root host's sandbox runs as somebody else, who could not even enter the folders: so everything is
 * mounted where he can, and what may be written appears as his own.
 */
export async function layOut(
  resolved: ResolvedOrder,
  { host, guest, made }: { host: SandboxHost; guest: string; made: AsyncDisposableStack },
): Promise<RunLayout> {
  const seen = await seeReadOnly(resolved, host, made);
  const idmap = host.isRoot ? mappedOwner(resolved, host) : undefined;
  const workspace = await seeWorkspace(resolved, host, idmap);
  const isOwnGuest = host.isRoot && guest !== host.folders.guest;
  const guestPoint = isOwnGuest ? await host.folders.point("guest", "folder") : guest;
  const binds = [
    workspace?.launcherBind ?? [],
    isOwnGuest ? { source: guest, target: guestPoint } : [],
  ].flat();
  return {
    binds: [...seen.binds, ...(workspace ? [workspace.bind] : [])],
    system: seen.system,
    guest: guestPoint,
    launcher: {
      views: seen.views,
      ...(binds.length > 0 && { binds }),
      ...(workspace?.overlay && { overlay: workspace.overlay }),
      ...(idmap && { idmap }),
    },
  };
}

interface SeenReadOnly {
  binds: PlannedBind[];
  system: SeenSystem;
  views: LauncherView[];
}

/** Everything that is only read, the system included, with what is mounted in it. */
async function seeReadOnly(
  { mounts }: ResolvedOrder,
  host: SandboxHost,
  made: AsyncDisposableStack,
): Promise<SeenReadOnly> {
  const mounted = await mountPoints();
  const views: LauncherView[] = [];
  const see = async (
    name: string,
    { source, target, isFolder, socket }: Omit<ResolvedMount, "mode">,
    /** Of a folder of the system: where it really is. */
    system?: string,
  ): Promise<PlannedBind> => {
    const real = system ?? source;
    const point = await host.folders.point(name, isFolder ? "folder" : "file");
    const within = isFolder ? mounted.filter((path) => path !== real && isWithin(path, real)) : [];
    const show = (from: string, path: string) =>
      views.push({
        empty: host.folders.emptyFolder,
        source: from,
        target: movedPath(path, real, point),
        ...(socket && { socket }),
      });
    if (within[0] === undefined || host.isRoot) for (const path of [real, ...within]) show(path, path);
    else if (system === undefined) throw mountedWithin(source, within[0]);
    else {
      const skeleton = await makeSkeleton(host, made);
      const parts = await splitFolder({ folder: real, mounted: within, skeleton, most: MOST_MOUNTS });
      if ("crowded" in parts) throw tooCrowded(real, parts.crowded);
      show(skeleton, real);
      for (const path of parts.paths) show(path, path);
    }
    return { kind: "bind", source: point, host: source, target, mode: "ro" };
  };
  /** An order's paths have no links any more; those of the system may lie below one. */
  const seeSystem = (name: string, paths: readonly string[]) =>
    Promise.all(
      paths.map(async (path, index) =>
        see(`${name}-${index}`, { source: path, target: path, isFolder: true }, await realpath(path)),
      ),
    );
  const { folders, settings, links } = host.system;
  const system = {
    links,
    folders: await seeSystem("system", folders),
    settings: await seeSystem("settings", settings),
  };
  const binds = await Promise.all(mounts.map((one, index) => see(`mount-${index}`, one)));
  if (views.length > MOST_MOUNTS) throw tooMany(views.length);
  return { binds, system, views };
}

/** Where something is mounted on this host, parents before what is in them. */
async function mountPoints(): Promise<string[]> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).trimEnd().split("\n");
  const paths = lines.map((line) => line.split(" ")[4] ?? "");
  const plain = paths.map((path) =>
    path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8))),
  );
  return [...new Set(plain)].toSorted((a, b) => a.length - b.length);
}

function mountedWithin(folder: string, path: string): SallyportError {
  return new SallyportError(
    failure("E3101", {
      message: `${folder} cannot be shown read-only: ${path} is mounted in it, and only root can show both without the host's sockets.`,
      advice: "Name folders in which nothing is mounted, or run Sallyport as root (tools still do not).",
    }),
  );
}

/** Its path has no links: none is followed to what is shown. */
async function makeSkeleton(host: SandboxHost, made: AsyncDisposableStack): Promise<string> {
  const folder = await host.folders.makeFolder();
  made.defer(() => rm(folder, { recursive: true, force: true }));
  return realpath(folder);
}

function tooCrowded(folder: string, path: string): SallyportError {
  return new SallyportError(
    failure("E3101", {
      message: `${folder} cannot be shown read-only: ${path} is mounted in it, and more than ${MOST_MOUNTS} files and folders lie beside the mounts there.`,
      advice: `Unmount ${path}, or run Sallyport as root (tools still do not).`,
    }),
  );
}

interface SeenWorkspace {
  bind: PlannedBind;
  launcherBind?: LauncherBind;
  overlay?: NonNullable<SuperviseOptions["overlay"]>;
}

async function seeWorkspace(
  { order }: ResolvedOrder,
  host: SandboxHost,
  idmap: HostUser | undefined,
): Promise<SeenWorkspace | undefined> {
  const { workspace } = order;
  if (workspace === undefined) return undefined;
  if (workspace.kind === "copy" && !host.isRoot) return { bind: plannedWorkspace(order, workspace.copy) };
  const target = await host.folders.point("workspace", "folder");
  const bind = plannedWorkspace(order, target);
  if (workspace.kind === "copy")
    return { bind, launcherBind: { source: workspace.copy, target, ...(idmap && { idmap: true }) } };
  const { root: lower, upper, work } = workspace;
  if (host.isRoot) for (const folder of [upper, work]) chownSync(folder, host.user.uid, host.user.gid);
  return { bind, overlay: { lower, upper, work, target } };
}

/** Whose files become the sandbox's own: the workspace's. */
function mappedOwner({ order, workspaceOwner }: ResolvedOrder, { user }: SandboxHost): HostUser | undefined {
  const { workspace } = order;
  const { uid, gid } = workspace?.kind === "copy" ? statSync(workspace.copy) : (workspaceOwner ?? user);
  return uid === user.uid && gid === user.gid ? undefined : { uid, gid };
}

/** Where the agent may only read, its tool cannot even write into the view. */
function plannedWorkspace(order: SandboxOrder, source: string): PlannedBind {
  const root = order.workspace?.root ?? "";
  const bounds = order.bounds?.filesystem;
  const mode = bounds === undefined ? "rw" : (boundMode(root, bounds) ?? "ro");
  return { kind: "bind", source, host: root, target: root, mode };
}

function tooMany(count: number): SallyportError {
  const message = `The order has ${count} folders to read, with what is mounted in them; at most ${MOST_MOUNTS} can be shown.`;
  return new SallyportError(failure("E3105", { message, advice: "Mount a folder above them instead." }));
}
