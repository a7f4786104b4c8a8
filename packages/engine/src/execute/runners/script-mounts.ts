import { findPackageJSON } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Confinement } from "../../ports/runner.ts";
import type { AgentBounds, SandboxMount } from "../../ports/sandbox.ts";

/**
 * What a script's process must see of the host to run at all, besides what the call's bounds show: Node, the runtime,
 * and the folder of the tool's package (Node reads its package.json to know what kind of module it has), or of the
 * module alone where there is no package. Read-only, and without what is seen anyway.
 */
export function runtimeMounts(
  moduleUrl: string,
  mounts: readonly SandboxMount[],
  { mounts: shown }: Pick<Confinement, "mounts">,
): SandboxMount[] {
  const folder = moduleFolder(moduleUrl);
  const wanted: SandboxMount[] = [...mounts, { source: folder, target: folder, mode: "ro" }];
  return wanted.filter((mount, index) => {
    const others = [...shown, ...wanted.slice(0, index)];
    return !others.some((other) => shows(other, mount));
  });
}

/** The agent's bounds are about what a tool may see; what the runtime needs to run it is the house's own affair. */
export function boundsWithRuntime(bounds: AgentBounds, runtime: readonly SandboxMount[]): AgentBounds {
  const { filesystem } = bounds;
  if (!filesystem) return bounds;
  const added = runtime
    .filter(({ source }) => !filesystem.some(({ path }) => isWithin(source, path)))
    .map(({ source }) => ({ path: source, mode: "ro" as const }));
  return { ...bounds, filesystem: [...filesystem, ...added] };
}

function moduleFolder(moduleUrl: string): string {
  try {
    const found = findPackageJSON(moduleUrl);
    if (found !== undefined) return dirname(found);
  } catch {
    // There is no such module; the process will say so itself.
  }
  return dirname(fileURLToPath(moduleUrl));
}

function shows(mount: Pick<SandboxMount, "source" | "target">, wanted: SandboxMount): boolean {
  if (!isWithin(wanted.target, mount.target)) return false;
  return wanted.source === `${trimmed(mount.source)}${wanted.target.slice(trimmed(mount.target).length)}`;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${trimmed(folder)}/`);
}

function trimmed(folder: string): string {
  return folder.endsWith("/") ? folder.slice(0, -1) : folder;
}
