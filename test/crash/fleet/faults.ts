import { setTimeout as sleep } from "node:timers/promises";
import type { StartedService } from "../../../scripts/services.ts";
import type { Replica } from "./replica.ts";
import { type Tables, takeOver } from "./tables.ts";

export type FaultName = keyof typeof REPLICA_FAULTS | keyof typeof DATABASE_FAULTS;

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

interface Shared {
  tables: Tables;
  database: StartedService;
  random: () => number;
  /** A promise was broken: nothing more needs to fail. */
  failed: AbortSignal;
  /** Resolves when one was. */
  failing: Promise<unknown>;
}

interface Place extends Shared {
  replica: Replica;
  fault: Fault;
}

/** A server sends what it writes for four seconds, and once more for four seconds, before it gives up. */
export const PATIENCE_MS = 8_000;
/** Shorter than PATIENCE_MS in one of them, longer in another, as in a server with its defaults. */
export const LEASES_MS = { short: 3_000, long: 12_000 };

/** Longer than a server's patience, shorter than the long lease. */
const outageMs = (random: () => number) => PATIENCE_MS + 500 + 2_000 * random();
/** Longer than every lease. */
const blackoutMs = (random: () => number) => LEASES_MS.long + 1_500 + 3_000 * random();

/** What the requests have in them that begin a call, or accept one. */
const OPENINGS = ['"phase":"executing"', '"phase":"queued"'] as const;

/** Each resolves when the replica can serve again. */
const REPLICA_FAULTS = {
  kill: async ({ replica }: Place) => {
    await replica.kill();
    await replica.start();
  },
  /** Longer than the lease: others judge its calls, and it wakes up believing in them. */
  freeze: ({ replica, random }: Place) => replica.freeze(replica.leaseMs * (1.1 + random())),
  /** As if one that had taken its calls over had died before it judged them: what it writes when it wakes counts no more. */
  takeover: ({ replica, tables, fault, random }: Place) =>
    replica.freeze(replica.leaseMs * 1.1, async () => {
      fault.taken = await takeOver(tables, replica.pid);
      await sleep(replica.leaseMs * 0.2 * random());
    }),
  /** Shorter than the lease: nobody may judge anything. */
  pause: ({ replica, random }: Place) => replica.freeze(replica.leaseMs * 0.5 * random()),
  silence: async ({ replica, random }: Place) => {
    replica.line.set("silent");
    await sleep(LEASES_MS.short * 2 * random());
    replica.line.set("open");
  },
  refuse: async ({ replica, random }: Place) => {
    replica.line.set("refused");
    await sleep(LEASES_MS.short * 2 * random());
    replica.line.set("open");
  },
  /** A call is on record and its server is not told so, nor reaches the database for longer than its patience. */
  swallow: async ({ replica, fault, random, failing }: Place) => {
    const swallowed = replica.line.swallowAnswer(OPENINGS[random() < 0.5 ? 0 : 1]);
    // Once a promise was broken there may be nobody left who asks for anything.
    await Promise.race([swallowed, failing]);
    fault.from = Date.now();
    await sleep(outageMs(random));
    replica.line.set("open");
  },
  reset: async ({ replica }: Place) => replica.line.reset(),
  clock: async ({ replica, random }: Place) => replica.stepClock((random() - 0.5) * 600_000),
};

const DATABASE_FAULTS = {
  database: ({ database }: Shared) => away(database, 0),
  outage: ({ database, random }: Shared) => away(database, outageMs(random)),
  blackout: ({ database, random }: Shared) => away(database, blackoutMs(random)),
};

async function away(database: StartedService, ms: number): Promise<void> {
  await database.kill();
  await sleep(ms);
  await database.restart();
}

/** How often each comes up; the cheap ones more often. */
const WEIGHTS: Record<keyof typeof REPLICA_FAULTS, number> = {
  kill: 3,
  freeze: 2,
  takeover: 4,
  pause: 3,
  silence: 3,
  refuse: 2,
  swallow: 4,
  reset: 12,
  clock: 3,
};

/** One after the other, the shorter ones between the others. */
const DATABASE_TURNS = ["outage", "database", "blackout"] as const;
/** Between two faults of the database, and of a replica, so that there is work to fail. */
const UP_MS = 6_000;
const CALM_MS = 1_500;

/** Comes up so often in every run, however many others do. */
export const LEAST: Partial<Record<FaultName, number>> = { outage: 4, blackout: 4, swallow: 4 };

interface Bounds {
  most: number;
  untilMs: number;
  /** Never killed, so that what it forgets stays forgotten. */
  survivor: Replica;
}

/** Makes faults, one at a time for each replica and one at a time for the database. What is made is in `made` from its beginning. */
export async function makeFaults(
  replicas: readonly Replica[],
  shared: Shared,
  { made, most, untilMs, survivor }: Bounds & { made: Fault[] },
): Promise<void> {
  const { random, failed } = shared;
  const deadline = performance.now() + untilMs;
  const isDue = () => !failed.aborted && made.length < most && performance.now() < deadline;
  const isLacking = (name: FaultName) =>
    !failed.aborted && made.filter((fault) => fault.name === name).length < (LEAST[name] ?? 0);
  const make = async (fault: Fault, act: () => Promise<void>) => {
    made.push(fault);
    await act();
    fault.to = Date.now();
  };
  const begun = (name: FaultName, port?: number): Fault => ({ name, port, from: Date.now(), to: Infinity });
  const disturb = async (replica: Replica) => {
    const names = deckOf(replica === survivor);
    while (isDue() || isLacking("swallow")) {
      const name = isDue() ? (names[Math.floor(random() * names.length)] ?? "reset") : "swallow";
      const fault = begun(name, replica.port);
      await make(fault, () => REPLICA_FAULTS[name]({ ...shared, replica, fault }));
      await sleep(CALM_MS * (0.5 + random()));
    }
  };
  const takeAway = async () => {
    for (let turn = 0; isDue() || isLacking("outage") || isLacking("blackout"); turn += 1) {
      await sleep(UP_MS * (0.5 + random()));
      const name = DATABASE_TURNS[turn % DATABASE_TURNS.length] ?? "database";
      await make(begun(name), () => DATABASE_FAULTS[name](shared));
    }
  };
  await Promise.all([takeAway(), ...replicas.map(disturb)]);
}

function deckOf(isSurvivor: boolean): (keyof typeof REPLICA_FAULTS)[] {
  const names = Object.keys(WEIGHTS) as (keyof typeof REPLICA_FAULTS)[];
  return names
    .filter((name) => !isSurvivor || name !== "kill")
    .flatMap((name) => Array(WEIGHTS[name]).fill(name));
}
