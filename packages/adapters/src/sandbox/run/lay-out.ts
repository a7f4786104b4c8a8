import { chownSync, statSync } from "node:fs";
import type { SandboxOrder } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import { boundMode } from "../bounds/bound-mode.ts";
import type { SandboxHost } from "../host/sandbox-host.ts";
import type { HostUser, SuperviseOptions } from "../launcher/index.ts";
import type { ResolvedMount, ResolvedOrder } from "../plan/resolve-order.ts";
import type { PlannedBind } from "../plan/sandbox-plan.ts";

/** Where a run's folders are found: by the launcher first, then by the backend. */
export interface RunLayout {
  /** Workspace and mounts, as the backend sees them. */
  binds: PlannedBind[];
  /** What is seen at /run/sallyport, as the backend sees it. */
  guest: string;
  launcher: Pick<SuperviseOptions, "overlay" | "binds" | "idmap">;
}

type LauncherBind = NonNullable<SuperviseOptions["binds"]>[number];

/** What the launcher takes, less what we mount ourselves. */
const MOST_MOUNTS = 240;

/**
 * Decides what the launcher has to mount before the backend starts. An unprivileged host needs that only for an
 * overlay. A root host's sandbox runs as somebody else, who could not even enter the folders: so everything is mounted
 * where he can, and what may be written appears as his own.
 */
export async function layOut(resolved: ResolvedOrder, host: SandboxHost, guest: string): Promise<RunLayout> {
  return host.isRoot ? layOutAsRoot(resolved, host, guest) : layOutAsSelf(resolved, host, guest);
}

async function layOutAsSelf(resolved: ResolvedOrder, host: SandboxHost, guest: string): Promise<RunLayout> {
  const { workspace } = resolved.order;
  const binds = resolved.mounts.map((mount) => plannedMount(mount, mount.source));
  if (workspace === undefined) return { binds, guest, launcher: {} };
  if (workspace.kind === "copy") {
    return { binds: [...binds, plannedWorkspace(resolved.order, workspace.copy)], guest, launcher: {} };
  }
  const target = await host.folders.point("workspace", "folder");
  const { root: lower, upper, work } = workspace;
  return {
    binds: [...binds, plannedWorkspace(resolved.order, target)],
    guest,
    launcher: { overlay: { lower, upper, work, target } },
  };
}

async function layOutAsRoot(resolved: ResolvedOrder, host: SandboxHost, guest: string): Promise<RunLayout> {
  const idmap = mappedOwner(resolved, host);
  const launcherBinds: LauncherBind[] = [];
  const binds: PlannedBind[] = [];
  if (resolved.mounts.length > MOST_MOUNTS) throw tooMany(resolved.mounts.length);
  for (const [index, mount] of resolved.mounts.entries()) {
    const target = await host.folders.point(`mount-${index}`, mount.isFolder ? "folder" : "file");
    launcherBinds.push({ source: mount.source, target });
    binds.push(plannedMount(mount, target));
  }
  const workspace = await workspaceAsRoot(resolved, host, idmap);
  if (workspace) binds.push(workspace.bind);
  if (workspace?.launcherBind) launcherBinds.push(workspace.launcherBind);
  const isOwnGuest = guest !== host.folders.guest;
  const guestPoint = isOwnGuest ? await host.folders.point("guest", "folder") : guest;
  if (isOwnGuest) launcherBinds.push({ source: guest, target: guestPoint });
  return {
    binds,
    guest: guestPoint,
    launcher: {
      ...(launcherBinds.length > 0 && { binds: launcherBinds }),
      ...(workspace?.overlay && { overlay: workspace.overlay }),
      ...(idmap && { idmap }),
    },
  };
}

async function workspaceAsRoot(resolved: ResolvedOrder, host: SandboxHost, idmap: HostUser | undefined) {
  const { workspace } = resolved.order;
  if (workspace === undefined) return undefined;
  const target = await host.folders.point("workspace", "folder");
  const bind = plannedWorkspace(resolved.order, target);
  if (workspace.kind === "copy") {
    const launcherBind: LauncherBind = { source: workspace.copy, target, ...(idmap && { idmap: true }) };
    return { bind, launcherBind };
  }
  for (const folder of [workspace.upper, workspace.work]) chownSync(folder, host.user.uid, host.user.gid);
  return { bind, overlay: { lower: workspace.root, upper: workspace.upper, work: workspace.work, target } };
}

/** Whose files become the sandbox's own: the workspace's. */
function mappedOwner(resolved: ResolvedOrder, host: SandboxHost): HostUser | undefined {
  const { workspace } = resolved.order;
  const copy = workspace?.kind === "copy" ? ownerOf(workspace.copy) : undefined;
  const owner = copy ?? resolved.workspaceOwner;
  return owner && !isSame(owner, host.user) ? owner : undefined;
}

function ownerOf(path: string): HostUser {
  const { uid, gid } = statSync(path);
  return { uid, gid };
}

function isSame(a: HostUser, b: HostUser | undefined): boolean {
  return a.uid === b?.uid && a.gid === b.gid;
}

function plannedMount(mount: ResolvedMount, source: string): PlannedBind {
  return { kind: "bind", source, host: mount.source, target: mount.target, mode: mount.mode };
}

/** Where the agent may only read, its tool cannot even write into the view. */
function plannedWorkspace(order: SandboxOrder, source: string): PlannedBind {
  const root = order.workspace?.root ?? "";
  const bounds = order.bounds?.filesystem;
  const mode = bounds === undefined ? "rw" : (boundMode(root, bounds) ?? "ro");
  return { kind: "bind", source, host: root, target: root, mode };
}

function tooMany(count: number): SallyportError {
  const message = `The order has ${count} mounts; as root at most ${MOST_MOUNTS} can be made.`;
  return new SallyportError(failure("E3105", { message, advice: "Mount a folder above them instead." }));
}
