import { chownSync } from "node:fs";
import { failure, SallyportError } from "@sallyport/protocol";
import type { SandboxHost } from "../host/sandbox-host.ts";
import type { SuperviseOptions } from "../launcher/index.ts";
import { maskHidden } from "../plan/mask-hidden.ts";
import type { ResolvedOrder } from "../plan/resolve-order.ts";
import type { PlainBackend } from "./process-backend.ts";

type PlainMounts = Pick<SuperviseOptions, "overlay" | "binds" | "idmap">;

/**
 * What the launcher mounts for a process that sees the host's file system: its view of the workspace at the
 * workspace's own path, and emptiness over what must not be seen. Throws E3105 for a mount it cannot make.
 */
export function plainLayout(resolved: ResolvedOrder, host: SandboxHost, backend: PlainBackend): PlainMounts {
  const { workspace } = resolved.order;
  const binds = [...mountBinds(resolved), ...(backend.level === "LEVEL_1" ? maskBinds(resolved, host) : [])];
  if (workspace === undefined) return binds.length > 0 ? { binds } : {};
  const isMapped = host.isRoot && backend.level === "LEVEL_1";
  const idmap = isMapped && resolved.workspaceOwner ? { idmap: resolved.workspaceOwner } : {};
  if (workspace.kind === "copy") {
    return {
      ...idmap,
      binds: [{ source: workspace.copy, target: workspace.root, idmap: isMapped }, ...binds],
    };
  }
  if (isMapped)
    for (const one of [workspace.upper, workspace.work]) chownSync(one, host.user.uid, host.user.gid);
  const { root: lower, upper, work } = workspace;
  return { ...idmap, overlay: { lower, upper, work, target: lower }, binds };
}

/** A folder is seen at its own path anyway; seen elsewhere, that place has to exist. */
function mountBinds({ mounts }: ResolvedOrder) {
  return mounts
    .filter((mount) => mount.source !== mount.target)
    .map(({ source, target }) => ({ source, target }));
}

function maskBinds(resolved: ResolvedOrder, host: SandboxHost) {
  const root = { kind: "bind", source: "/", host: "/", target: "/", mode: "ro" } as const;
  const masks = maskHidden(resolved.hidden, [root]);
  if (masks.length > MOST_MASKS) {
    const message = `${masks.length} paths must not be seen; without a sandbox of its own at most ${MOST_MASKS} can be covered.`;
    throw new SallyportError(
      failure("E3101", { message, advice: "Use LEVEL_2, or hide a folder above them." }),
    );
  }
  return masks.map(({ kind, target }) => ({
    source: kind === "emptyFolder" ? host.folders.emptyFolder : "/dev/null",
    target,
  }));
}

/** What the launcher takes, less what we mount ourselves. */
const MOST_MASKS = 240;
