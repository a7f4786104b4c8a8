import { setTimeout as sleep } from "node:timers/promises";
import type { StartedService } from "../../../scripts/services.ts";
import { LEASE_MS, type Replica } from "./replica.ts";
import { type Tables, takeOver } from "./tables.ts";

export type FaultName = keyof typeof FAULTS;

/** One that was made: where (undefined: the database), and from when until when by the machine's clock. */
export interface Fault {
  /** A stall is the machine's: it was too busy to let a process or the database go on. */
  name: FaultName | "stall";
  port: number | undefined;
  from: number;
  to: number;
  /** The calls that an outsider took over meanwhile. */
  taken?: string[];
}

interface Place {
  replica: Replica;
  fault: Fault;
  tables: Tables;
  database: StartedService;
  random: () => number;
}

/** Each resolves when the replica can serve again. */
const FAULTS = {
  kill: async ({ replica }: Place) => {
    await replica.kill();
    await replica.start();
  },
  /** Longer than the lease: others judge its calls, and it wakes up believing in them. */
  freeze: ({ replica, random }: Place) => replica.freeze(LEASE_MS * (1.1 + random())),
  /** As if one that had taken its calls over had died before it judged them: what it writes when it wakes counts no more. */
  takeover: ({ replica, tables, fault, random }: Place) =>
    replica.freeze(LEASE_MS * 1.1, async () => {
      fault.taken = await takeOver(tables, replica.pid);
      await sleep(LEASE_MS * 0.2 * random());
    }),
  /** Shorter than the lease: nobody may judge anything. */
  pause: ({ replica, random }: Place) => replica.freeze(LEASE_MS * 0.5 * random()),
  silence: async ({ replica, random }: Place) => {
    replica.line.set("silent");
    await sleep(LEASE_MS * 2 * random());
    replica.line.set("open");
  },
  refuse: async ({ replica, random }: Place) => {
    replica.line.set("refused");
    await sleep(LEASE_MS * 2 * random());
    replica.line.set("open");
  },
  reset: async ({ replica }: Place) => replica.line.reset(),
  clock: async ({ replica, random }: Place) => replica.stepClock((random() - 0.5) * 600_000),
  database: async ({ database }: Place) => {
    await database.kill();
    await database.restart();
  },
};

/** How often each comes up; the cheap ones more often. */
const WEIGHTS: Record<FaultName, number> = {
  kill: 3,
  freeze: 2,
  takeover: 4,
  pause: 3,
  silence: 3,
  refuse: 2,
  reset: 12,
  clock: 3,
  database: 1,
};

const NAMES = (Object.keys(WEIGHTS) as FaultName[]).flatMap((name) => Array(WEIGHTS[name]).fill(name));

interface Bounds {
  most: number;
  untilMs: number;
}

/** Makes faults, one at a time for each replica and one at a time for the database. */
export async function makeFaults(
  replicas: readonly Replica[],
  shared: Omit<Place, "replica" | "fault">,
  { most, untilMs }: Bounds,
): Promise<Fault[]> {
  const made: Fault[] = [];
  const { random } = shared;
  const deadline = performance.now() + untilMs;
  let left = most;
  let restarting: Promise<void> = Promise.resolve();
  const work = async (replica: Replica) => {
    while (left > 0 && performance.now() < deadline) {
      left -= 1;
      const name: FaultName = NAMES[Math.floor(random() * NAMES.length)] ?? "reset";
      const fault: Fault = { name, port: replica.port, from: Date.now(), to: Infinity };
      const place = { ...shared, replica, fault };
      made.push(fault);
      if (name === "database") {
        fault.port = undefined;
        restarting = restarting.then(() => FAULTS.database(place));
        await restarting;
      } else await FAULTS[name](place);
      fault.to = Date.now();
      await sleep(100 + 400 * random());
    }
  };
  await Promise.all(replicas.map(work));
  return made;
}
