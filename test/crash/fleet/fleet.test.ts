import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { reasonToSkip, startService } from "../../../scripts/services.ts";
import { countOf, IS_SOAK, seedOf } from "../../counts.ts";
import { Receiver } from "../../e2e/http/fixtures/receiver.ts";
import { seeded } from "../seeded.ts";
import { breaches } from "./check.ts";
import { type Fault, LEASES_MS, LEAST, makeFaults, PATIENCE_MS } from "./faults.ts";
import { ask, type ClientOptions, FleetClient } from "./load.ts";
import { watchOwners } from "./owners.ts";
import { Replica } from "./replica.ts";
import { openWork, pendingApprovals, summary, type Tables, watchAnswers } from "./tables.ts";

/*
 * Three servers on one PostgreSQL, under load from clients that ask again until they are answered. Servers are killed,
 * stopped for longer than their lease, cut off from the database, robbed of their calls and of the answers to what they
 * write, and given a wrong clock; the database is killed and restarted, at once or after a while. One server lives
 * through it all. Meanwhile every open call must be in somebody's hands. Then everything is let come to rest, and an
 * independent check compares what clients were told with what outsiders can see.
 *
 * It was seen to find: a store that does not check fences ("fenced"), a callback that is marked as delivered and not sent
 * ("callback"), calls that a process holds by the tables and knows nothing of ("ownerless").
 */

/** By their leases. The first one is never killed. */
const REPLICAS = [LEASES_MS.long, LEASES_MS.short, LEASES_MS.short];
const CLIENTS = 24;
const SCHEMA = "fleet";
const FAULTS = countOf("SALLYPORT_FLEET_FAULTS");
/** So many faults, or so much time, and then everything is checked. A soak run makes several such runs. */
const FAULTS_OF_A_RUN = 300;
const LONGEST_MS = 200_000;
/** Callbacks that a killed server was delivering are tried again after a minute. */
const REST_MS = 300_000;
const skipped = reasonToSkip("postgres");

it.skipIf(skipped)(
  `a fleet loses no acknowledged outcome, runs nothing twice and leaves no call to nobody, whatever fails ${skipped ?? ""} [X-5] [X-9] [X-21] [D-4] [D-13] [NFR-REL-04]`,
  async () => {
    const progress = readProgress();
    do {
      const seed = progress.seed + progress.runs;
      const { faults, broken, ends, said } = await runFleet(seed, Math.min(FAULTS_OF_A_RUN, FAULTS));
      const counts = counted(faults);
      progress.faults += faults.length;
      console.log(
        `fleet, seed ${seed}: ${JSON.stringify(counts)} ${JSON.stringify(ends)}, faults so far ${progress.faults}`,
      );
      expect(broken, `seed ${seed}\n${said}`).toEqual([]);
      expect(ends.success).toBeGreaterThan(0);
      for (const [name, least] of Object.entries(LEAST))
        expect(counts[name] ?? 0, name).toBeGreaterThanOrEqual(least);
      progress.runs += 1;
      keepProgress(progress);
    } while (IS_SOAK && progress.faults < FAULTS);
    if (IS_SOAK) rmSync(PROGRESS_FILE);
  },
  IS_SOAK ? 14_400_000 : LONGEST_MS + 3 * REST_MS,
);

/** How far a soak run has come; one that is cut short goes on from there, with its own seeds. */
interface SoakProgress {
  seed: number;
  runs: number;
  faults: number;
}

const PROGRESS_FILE = join(import.meta.dirname, "../../../node_modules/.cache/sallyport-soak/fleet.json");

function readProgress(): SoakProgress {
  if (IS_SOAK && existsSync(PROGRESS_FILE)) return JSON.parse(readFileSync(PROGRESS_FILE, "utf8"));
  return { seed: seedOf(), runs: 0, faults: 0 };
}

function keepProgress(progress: SoakProgress): void {
  if (!IS_SOAK) return;
  mkdirSync(dirname(PROGRESS_FILE), { recursive: true });
  writeFileSync(PROGRESS_FILE, JSON.stringify(progress));
}

interface FleetRun {
  faults: Fault[];
  /** Every promise that was broken. */
  broken: string[];
  ends: Record<string, number>;
  /** The last words of each server. */
  said: string;
}

async function runFleet(seed: number, most: number): Promise<FleetRun> {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-fleet-"));
  const witness = join(folder, "witness.jsonl");
  await using database = await startService("postgres");
  await using receiver = await new Receiver().open();
  const replicas = await startFleet(database.port);
  const [survivor] = replicas as [Replica];
  const tables = {
    connectionString: `postgres://sallyport@127.0.0.1:${database.port}/postgres`,
    schema: SCHEMA,
  };
  const [made, ownerless]: [Fault[], string[]] = [[], []];
  try {
    let [isOver, isAtRest] = [false, false];
    const failing = new AbortController();
    const { signal: failed } = failing;
    const seen = { witness, callbackUrl: receiver.url };
    const clients = clientsOf(replicas, { ...seen, seed, failed, isOver: () => isOver });
    const working = Promise.all(clients.map((client) => client.work()));
    const watching = watchAnswers(tables, () => isAtRest);
    const guarding = watchOwners({ tables, replicas, faults: made, isOver: () => isAtRest }, (breach) => {
      ownerless.push(breach);
      failing.abort();
    });
    const shared = { database, tables, failed, failing: once(failed, "abort"), random: seeded(seed) };
    await makeFaults(replicas, shared, { made, most, untilMs: LONGEST_MS, survivor });
    isOver = true;
    await working;
    await comeToRest(replicas, tables, failed);
    isAtRest = true;
    await guarding;
    const stalls = [
      ...(await watching).map((stall) => ({ ...stall, name: "stall" as const, port: undefined })),
      ...replicas.flatMap(({ stalls, port }) =>
        stalls.map((stall) => ({ ...stall, name: "stall" as const, port })),
      ),
    ];
    const world = {
      ...{ ...tables, witness, faults: [...made, ...stalls], afterMs: LEASES_MS.long + PATIENCE_MS },
      told: clients.flatMap((client) => client.told),
      callbacks: Map.groupBy(receiver.received, ({ path }) => path.slice(1)),
      replicas: replicas.map(({ folder, port, pids }) => ({ folder: folder.folder, port, pids })),
    };
    const broken = [...ownerless, ...(await breaches(world)), ...replicas.flatMap(({ ended }) => ended)];
    if (survivor.pids.size !== 1) broken.push(`the survivor was ${survivor.pids.size} processes`);
    const said = replicas.map((replica) => replica.said.slice(-2_000)).join("\n---\n");
    return { faults: made, broken, ends: await summary(tables), said };
  } finally {
    for (const replica of replicas) await replica[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  }
}

function clientsOf(
  replicas: readonly Replica[],
  {
    seed,
    ...shared
  }: { seed: number } & Pick<ClientOptions, "witness" | "callbackUrl" | "isOver" | "failed">,
): FleetClient[] {
  const ports = replicas.map(({ port }) => port);
  const operatorKey = replicas[0]?.folder.operatorKey ?? "";
  return Array.from({ length: CLIENTS }, (_, index) => {
    const random = seeded(seed + index + 1);
    return new FleetClient({ ...shared, ports, operatorKey, name: `c${index}`, random });
  });
}

function counted(faults: readonly Fault[]): Record<string, number> {
  const names = Object.groupBy(faults, ({ name }) => name);
  const taken = faults.flatMap((fault) => fault.taken ?? []).length;
  return { ...Object.fromEntries(Object.entries(names).map(([name, of]) => [name, of.length])), taken };
}

/** The first one makes tables and keys; the others get its keys, as an operator would distribute them. */
async function startFleet(databasePort: number): Promise<Replica[]> {
  const replicas: Replica[] = [];
  for (const leaseMs of REPLICAS) {
    const replica = await Replica.make({ databasePort, schema: SCHEMA, leaseMs });
    const [first] = replicas;
    if (first) {
      // Folders with keys are refused when others may read them.
      mkdirSync(keysOf(replica), { recursive: true, mode: 0o700 });
      cpSync(keysOf(first), keysOf(replica), { recursive: true });
    }
    await replica.start();
    replicas.push(replica);
  }
  return replicas;
}

function keysOf({ folder }: Replica): string {
  return join(folder.stateFolder, "keys");
}

/**
 * No more faults: what waits for a person is approved, and everything that was accepted comes to its end and is told.
 * What is open after that long is found by the check; there is no rest for what has failed already.
 */
async function comeToRest(replicas: readonly Replica[], tables: Tables, failed: AbortSignal): Promise<void> {
  const deadline = performance.now() + REST_MS;
  while (performance.now() < deadline && !failed.aborted && (await openWork(tables)) > 0) {
    for (const [index, approvalId] of (await pendingApprovals(tables)).entries()) {
      const { port, folder } = replicas[index % replicas.length] as Replica;
      const headers = { authorization: `Bearer ${folder.operatorKey}` };
      await ask(port, { method: "POST", path: `/v1/approvals/${approvalId}:approve`, headers });
    }
    await sleep(500);
  }
}
