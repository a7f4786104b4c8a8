import { lstatSync, realpathSync, statSync } from "node:fs";
import type { SandboxMount, SandboxOrder } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import { beyondBounds } from "../bounds/beyond-bounds.ts";
import type { HostUser } from "../launcher/index.ts";
import type { HiddenPath } from "./mask-hidden.ts";
import { isCanonical, isWithin } from "./paths.ts";

/** A mount whose source was looked at: no link leads anywhere else than the rules were checked for. */
export interface ResolvedMount extends SandboxMount {
  isFolder: boolean;
}

/** An order whose paths are canonical and within its bounds. */
export interface ResolvedOrder {
  order: SandboxOrder;
  mounts: ResolvedMount[];
  workspaceOwner?: HostUser;
  hidden: HiddenPath[];
}

/** Sockets of those who could start anything on this host. */
const CONTAINER_SOCKETS = [
  ...[
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/buildkit",
  ],
];

/** Made by the sandbox itself. */
const RESERVED_TARGETS = ["/proc", "/dev", "/sys", "/run/sallyport", "/etc"];

/**
 * Looks at an order's paths, follows links, and checks them. Throws SallyportError: E3105 for a path that cannot be
 * used, E3102/E3104/E3105 when it is beyond its agent's bounds.
 */
export function resolveOrder(order: SandboxOrder, alwaysHidden: readonly string[]): ResolvedOrder {
  const hidden = [...order.hidden, ...alwaysHidden, ...CONTAINER_SOCKETS].flatMap(resolveHidden);
  const mounts = order.mounts.map((mount) => resolveMount(mount, hidden));
  const workspace = order.workspace && resolveSource(order.workspace.root, hidden);
  const beyond = beyondBounds({ ...order, mounts });
  if (beyond) throw new SallyportError(beyond);
  if (!isCanonical(order.cwd)) throw refusedPath(order.cwd, "is no absolute path in its plain form");
  return { order, mounts, hidden, ...(workspace && { workspaceOwner: workspace.owner }) };
}

/** What does not exist cannot be seen, and covering it would leave something on the host. */
function resolveHidden(path: string): HiddenPath[] {
  try {
    const real = realpathSync.native(path);
    return [{ path: real, isFolder: lstatSync(real).isDirectory() }];
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

function resolveMount(mount: SandboxMount, hidden: readonly HiddenPath[]): ResolvedMount {
  if (mount.mode !== "ro") throw refusedPath(mount.source, "would be writable: only a workspace is");
  if (!isCanonical(mount.target) || mount.target === "/") {
    throw refusedPath(mount.target, "is no absolute path in its plain form");
  }
  if (RESERVED_TARGETS.some((path) => isWithin(mount.target, path))) {
    throw refusedPath(mount.target, "belongs to the sandbox itself");
  }
  const resolved = resolveSource(mount.source, hidden);
  const { isFolder, isFile, isSocket } = resolved;
  if (mount.socket && !isSocket) throw refusedPath(mount.source, "is neither a socket nor a fifo");
  if (!mount.socket && !isFolder && !isFile) {
    throw refusedPath(mount.source, "is neither a file nor a folder; sockets are given by `sandbox.sockets`");
  }
  return { ...mount, ...resolved };
}

function resolveSource(path: string, hidden: readonly HiddenPath[]) {
  if (!isCanonical(path)) throw refusedPath(path, "is no absolute path in its plain form");
  const { source, stats } = lookAt(path);
  if (hidden.some((one) => isWithin(source, one.path)))
    throw refusedPath(path, "must not be seen in a sandbox");
  const kind = { isFile: stats.isFile(), isSocket: stats.isSocket() || stats.isFIFO() };
  return { source, isFolder: stats.isDirectory(), ...kind, owner: { uid: stats.uid, gid: stats.gid } };
}

function lookAt(path: string) {
  try {
    const source = realpathSync.native(path);
    return { source, stats: statSync(source) };
  } catch (error) {
    throw refusedPath(path, `cannot be used: ${(error as Error).message}`);
  }
}

function refusedPath(path: string, why: string): SallyportError {
  return new SallyportError(
    failure("E3105", {
      message: `${path} ${why}.`,
      advice:
        "Correct the path in `permissions.filesystem` of the tool's manifest, or the workspace in the settings.",
      details: { path },
    }),
  );
}
