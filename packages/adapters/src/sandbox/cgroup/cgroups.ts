import type { LimitName } from "@sallyport/protocol";
import { GroupTree } from "./group-tree.ts";
import { findHierarchies } from "./hierarchies.ts";
import type { CgroupLayout, Controller } from "./layout.ts";
import type { GroupReadings } from "./readings.ts";
import type { GroupLimits } from "./settings.ts";

/** The group of one run. */
export interface RunGroup {
  /** Folders the run's first process has to join. */
  readonly folders: readonly string[];
  /** Limits that the kernel holds for the whole group. */
  readonly holds: ReadonlySet<LimitName>;
  read(): GroupReadings;
  /** Call when every process is gone. */
  remove(): Promise<void>;
}

/** Groups of the kernel for runs, one below their agent's. */
export interface Cgroups {
  readonly version: "v1" | "v2";
  readonly controllers: readonly Controller[];
  /** Rejects with the kernel's word when a limit cannot be set: never runs without one that was promised. */
  makeRun(order: RunGroupOrder): Promise<RunGroup>;
  /** Removes everything this process has made. */
  close(): Promise<void>;
}

export interface RunGroupOrder {
  limits: GroupLimits;
  /** The agent's own bounds hold for all its runs together. */
  agent?: { name: string; limits: GroupLimits };
}

/** Finds out whether groups can be made here by making one; undefined when they cannot. */
export async function openCgroups(layout?: CgroupLayout): Promise<Cgroups | undefined> {
  const found = await findHierarchies(layout);
  return found && new GroupTree(found.version, found.hierarchies);
}
