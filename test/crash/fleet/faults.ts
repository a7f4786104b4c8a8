import { setTimeout as sleep } from "node:timers/promises";
import type { StartedService } from "../../../scripts/services.ts";
import { LEASE_MS, type Replica } from "./replica.ts";

export type FaultName = keyof typeof FAULTS;

interface Place {
  replica: Replica;
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
  kill: 4,
  freeze: 2,
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

/** Makes faults, one at a time for each replica and one at a time for the database; says how often each was made. */
export async function makeFaults(
  replicas: readonly Replica[],
  { database, random }: Omit<Place, "replica">,
  { most, untilMs }: Bounds,
): Promise<Record<string, number>> {
  const made: Record<string, number> = {};
  const deadline = performance.now() + untilMs;
  let left = most;
  let restarting: Promise<void> = Promise.resolve();
  const work = async (replica: Replica) => {
    while (left > 0 && performance.now() < deadline) {
      left -= 1;
      const name: FaultName = NAMES[Math.floor(random() * NAMES.length)] ?? "reset";
      made[name] = (made[name] ?? 0) + 1;
      const place = { replica, database, random };
      if (name === "database") {
        restarting = restarting.then(() => FAULTS.database(place));
        await restarting;
      } else await FAULTS[name](place);
      await sleep(200 + 800 * random());
    }
  };
  await Promise.all(replicas.map(work));
  return made;
}
