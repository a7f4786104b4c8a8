import { randomUUID } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isOwnerAlive } from "../host/process-mark.ts";
import { makeGroup, removeGroup, removeGroupTree } from "./group-folders.ts";
import { type CgroupLayout, type Controller, cgroupLayout } from "./layout.ts";
import { type GroupLimits, type GroupSetting, v1Settings, v2Settings } from "./settings.ts";

/** A hierarchy below which groups are made: all controllers at once (version 2) or one (version 1). */
export interface Hierarchy {
  base: string;
  controllers: Controller[];
  settings(limits: GroupLimits): GroupSetting[];
}

/** Groups of ours are called `sallyport-PID-START-…`, so that those of a dead process can be told. */
export const PREFIX = "sallyport-";

export interface Hierarchies {
  version: "v1" | "v2";
  hierarchies: Hierarchy[];
}

/** Tries where groups can be made; undefined when at least memory and processes cannot be held. */
export async function findHierarchies(layout?: CgroupLayout): Promise<Hierarchies | undefined> {
  const found = layout ?? (await readLayout());
  if (found === undefined) return undefined;
  const v2 = await usableV2(found);
  if (v2 !== undefined) return swept("v2", [v2]);
  const v1 = (await Promise.all(v1Hierarchies(found).map(usable))).filter((one) => one !== undefined);
  const held = v1.flatMap((one) => one.controllers);
  if (!held.includes("memory") || !held.includes("pids")) return undefined;
  return swept("v1", v1);
}

async function readLayout(): Promise<CgroupLayout | undefined> {
  if (process.platform !== "linux") return undefined;
  const texts = await Promise.all(
    ["/proc/self/mountinfo", "/proc/self/cgroup"].map((path) => readFile(path, "utf8").catch(() => "")),
  );
  return cgroupLayout(texts[0] ?? "", texts[1] ?? "");
}

function v1Hierarchies(layout: CgroupLayout): Hierarchy[] {
  const entries = Object.entries(layout.v1) as [Controller, string][];
  return [...new Set(Object.values(layout.v1))].map((base) => {
    const controllers = entries.filter(([, folder]) => folder === base).map(([controller]) => controller);
    return {
      base,
      controllers,
      settings: (limits) => controllers.flatMap((controller) => v1Settings(controller, limits)),
    };
  });
}

/** Nobody may write here, or it is mounted read-only: rlimits and the launcher's watch then hold what they can. */
async function usable(hierarchy: Hierarchy): Promise<Hierarchy | undefined> {
  const folder = join(hierarchy.base, `${PREFIX}try-${randomUUID()}`);
  try {
    makeGroup(folder, []);
  } catch {
    return undefined;
  }
  await removeGroup(folder);
  return hierarchy;
}

/**
 * A group of version 2 with processes in it cannot hand its controllers on, so that our own group serves only when we
 * are at the root; with systemd's `DelegateSubgroup=` it is the one above.
 */
async function usableV2(layout: CgroupLayout): Promise<Hierarchy | undefined> {
  if (layout.v2 === undefined) return undefined;
  for (const base of [layout.v2, dirname(layout.v2)]) {
    const offered = (await readFile(join(base, "cgroup.controllers"), "utf8").catch(() => "")).split(/\s+/);
    if (!offered.includes("memory") || !offered.includes("pids")) continue;
    const controllers: Controller[] = [
      "memory",
      "pids",
      ...(offered.includes("cpu") ? (["cpu"] as const) : []),
    ];
    if (!(await handOn(base, controllers))) continue;
    const hierarchy = await usable({ base, controllers: [...controllers, "cpuacct"], settings: v2Settings });
    if (hierarchy !== undefined) return hierarchy;
  }
  return undefined;
}

/** Lets groups below a group of version 2 have controllers. */
export async function handOn(folder: string, controllers: readonly Controller[]): Promise<boolean> {
  const value = controllers.map((one) => `+${one}`).join(" ");
  return writeFile(join(folder, "cgroup.subtree_control"), value).then(
    () => true,
    () => false,
  );
}

async function swept(version: "v1" | "v2", hierarchies: Hierarchy[]): Promise<Hierarchies> {
  await Promise.all(hierarchies.map(sweep));
  return { version, hierarchies };
}

/** Removes what a process that is no more left behind. */
async function sweep(hierarchy: Hierarchy): Promise<void> {
  const names = await readdir(hierarchy.base).catch(() => []);
  const stale = names.filter((name) => name.startsWith(PREFIX) && !isOwnerAlive(name.slice(PREFIX.length)));
  for (const name of stale) removeGroupTree(join(hierarchy.base, name));
}
