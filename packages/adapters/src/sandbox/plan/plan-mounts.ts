import { GUEST } from "./guest-paths.ts";
import { type HiddenPath, maskHidden } from "./mask-hidden.ts";
import type { PlannedBind, PlannedMount } from "./sandbox-plan.ts";
import type { SystemLayout } from "./system-layout.ts";

/** The system as the backend finds it: where each folder is seen from. */
export type SeenSystem = Pick<SystemLayout, "links"> & Record<"folders" | "settings", readonly PlannedBind[]>;

/** What a run's file system is made of; every path is canonical and was looked at before. */
export interface MountParts {
  system: SeenSystem;
  /** A folder that stands in for /etc. */
  settings: string;
  /** The folder seen at /run/sallyport. */
  guest: string;
  /** Workspace and mounts, in any order. */
  binds: readonly PlannedBind[];
  hidden: readonly HiddenPath[];
  scratchBytes: number;
}

/** Small on purpose: what programs keep in shared memory is memory, whatever a limit on /tmp says. */
const MOST_SHARED_MEMORY = 64 * 1024 * 1024;

/**
 * The whole file system inside, in the order it has to be made: a system that cannot be written, a private /tmp, then
 * what the order mounts with parents first, and last what must not be seen.
 */
export function planMounts(parts: MountParts): PlannedMount[] {
  const system = parts.system.folders;
  const settings = ownFolder(parts.settings, "/etc");
  const guest = ownFolder(parts.guest, GUEST.folder);
  const ordered = parts.binds.toSorted((a, b) => depth(a.target) - depth(b.target));
  return [
    ...system,
    ...parts.system.links.map(({ path, leadsTo }): PlannedMount => ({ kind: "link", target: path, leadsTo })),
    settings,
    ...parts.system.settings,
    guest,
    { kind: "scratch", target: "/tmp", bytes: parts.scratchBytes },
    { kind: "scratch", target: "/dev/shm", bytes: Math.min(parts.scratchBytes, MOST_SHARED_MEMORY) },
    { kind: "link", target: "/var/tmp", leadsTo: "../tmp" },
    ...ordered,
    ...maskHidden(parts.hidden, [...system, ...ordered]),
  ];
}

/** A folder of the sandbox's own, in which nobody else makes anything. */
function ownFolder(source: string, target: string): PlannedBind {
  return { kind: "bind", source, host: source, target, mode: "ro" };
}

function depth(path: string): number {
  return path.split("/").length;
}
