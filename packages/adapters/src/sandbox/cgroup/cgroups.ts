import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import type { LimitName } from "@sallyport/protocol";
import { ownMark } from "../host/process-mark.ts";
import { applySettings, makeGroup, removeGroup, removeGroupTree } from "./group-folders.ts";
import { findHierarchies, type Hierarchy, handOn, PREFIX } from "./hierarchies.ts";
import type { CgroupLayout, Controller } from "./layout.ts";
import { type GroupReadings, readV1, readV2 } from "./readings.ts";
import type { GroupLimits } from "./settings.ts";

/** How a group above runs is made, changed and removed. */
interface SharedGroupSteps<Limits> {
  make(limits: Limits): Promise<void>;
  change(limits: Limits): Promise<void>;
  remove(): Promise<void>;
}

/**
 * A group that several runs use: made by the first, removed by the last. Steps follow each other, so that a run that
 * starts while the last one ends finds the group either still there or made again.
 */
export class SharedGroup<Limits> {
  readonly #steps: SharedGroupSteps<Limits>;
  #users = 0;
  #limits: string | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(steps: SharedGroupSteps<Limits>) {
    this.#steps = steps;
  }

  get isUsed(): boolean {
    return this.#users > 0;
  }

  /** Rejects when it cannot be made; the user then does not count. */
  async use(limits: Limits): Promise<void> {
    this.#users++;
    try {
      await this.#next(() => this.#bring(limits));
    } catch (error) {
      this.#users--;
      throw error;
    }
  }

  async release(): Promise<void> {
    this.#users--;
    await this.#next(async () => {
      if (this.#users > 0 || this.#limits === undefined) return;
      this.#limits = undefined;
      await this.#steps.remove();
    });
  }

  async #bring(limits: Limits): Promise<void> {
    const wanted = JSON.stringify(limits);
    if (this.#limits === wanted) return;
    await (this.#limits === undefined ? this.#steps.make(limits) : this.#steps.change(limits));
    this.#limits = wanted;
  }

  /** One step's failure is its caller's; the next step starts from what is true then. */
  #next(step: () => Promise<void>): Promise<void> {
    const done = this.#last.then(step);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** `sallyport-PID-START-RANDOM` stays until the end; in it, one group per agent that has runs, and in that one per run. */
class GroupTree implements Cgroups {
  readonly version: "v1" | "v2";
  readonly controllers: readonly Controller[];
  readonly #hierarchies: readonly Hierarchy[];
  readonly #root = `${PREFIX}${ownMark()}-${randomUUID().slice(0, 8)}`;
  readonly #agents = new Map<string, SharedGroup<GroupLimits>>();
  #rootMade: Promise<void> | undefined;

  constructor(version: "v1" | "v2", hierarchies: readonly Hierarchy[]) {
    this.version = version;
    this.#hierarchies = hierarchies;
    this.controllers = hierarchies.flatMap((one) => one.controllers);
  }

  async makeRun(order: RunGroupOrder): Promise<RunGroup> {
    this.#rootMade ??= this.#makeParent(this.#root, {});
    await this.#rootMade;
    const agent = order.agent && agentFolder(order.agent.name);
    if (order.agent !== undefined) await this.#agent(agent ?? "").use(order.agent.limits);
    const path = join(this.#root, agent ?? "", `run-${randomUUID()}`);
    const joined = this.#hierarchies.filter((one) => holdsAny(one, order));
    try {
      for (const one of joined) makeGroup(join(one.base, path), one.settings(order.limits));
      return this.#runGroup({ path, joined, order, agent });
    } catch (error) {
      await this.#removeRun(path, agent);
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const one of this.#hierarchies) removeGroupTree(join(one.base, this.#root));
    this.#rootMade = undefined;
  }

  #agent(folder: string): SharedGroup<GroupLimits> {
    const known = this.#agents.get(folder);
    if (known !== undefined) return known;
    const path = join(this.#root, folder);
    const made = new SharedGroup<GroupLimits>({
      make: (limits) => this.#makeParent(path, limits),
      change: (limits) => this.#change(path, limits),
      remove: () => this.#remove(path),
    });
    this.#agents.set(folder, made);
    return made;
  }

  async #makeParent(path: string, limits: GroupLimits): Promise<void> {
    await Promise.all(
      this.#hierarchies.map(async (one) => {
        const folder = join(one.base, path);
        makeGroup(folder, one.settings(limits));
        const handed = one.controllers.filter((name) => name !== "cpuacct");
        if (this.version === "v2") await handOn(folder, handed);
      }),
    );
  }

  async #change(path: string, limits: GroupLimits): Promise<void> {
    for (const one of this.#hierarchies) applySettings(join(one.base, path), one.settings(limits));
  }

  async #remove(path: string): Promise<void> {
    await Promise.all(this.#hierarchies.map((one) => removeGroup(join(one.base, path))));
  }

  async #removeRun(path: string, agent: string | undefined): Promise<void> {
    await this.#remove(path);
    if (agent === undefined) return;
    const shared = this.#agent(agent);
    await shared.release();
    if (!shared.isUsed) this.#agents.delete(agent);
  }

  #runGroup({ path, joined, order, agent }: MadeRun): RunGroup {
    return {
      folders: joined.map((one) => join(one.base, path)),
      holds: this.#held(order.limits),
      read: () => this.#read(path, joined),
      remove: () => this.#removeRun(path, agent),
    };
  }

  #held(limits: GroupLimits): Set<LimitName> {
    const held = new Set<LimitName>();
    if (limits.memoryBytes !== undefined) held.add("memory");
    if (limits.processes !== undefined) held.add("processes");
    if (limits.cpuMillicores !== undefined && this.controllers.includes("cpu")) held.add("cpu");
    return held;
  }

  #read(path: string, joined: readonly Hierarchy[]): GroupReadings {
    const folders: Partial<Record<Controller, string>> = {};
    for (const one of joined) {
      for (const controller of one.controllers) folders[controller] = join(one.base, path);
    }
    return this.version === "v2" ? readV2(folders.memory ?? "") : readV1(folders);
  }
}

interface MadeRun {
  path: string;
  joined: readonly Hierarchy[];
  order: RunGroupOrder;
  agent: string | undefined;
}

/** Joining a group that holds nothing would cost a start its time, and the run its share of the processors. */
function holdsAny(hierarchy: Hierarchy, { limits, agent }: RunGroupOrder): boolean {
  return hierarchy.settings(limits).length > 0 || hierarchy.settings(agent?.limits ?? {}).length > 0;
}

/** A name that any agent's name gives and no two share. */
function agentFolder(name: string): string {
  return `agent-${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
}

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
