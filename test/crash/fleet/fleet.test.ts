import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { reasonToSkip, startService } from "../../../scripts/services.ts";
import { countOf, IS_SOAK, seedOf } from "../../counts.ts";
import { Receiver } from "../../e2e/http/fixtures/receiver.ts";
import { seeded } from "../seeded.ts";
import { breaches } from "./check.ts";
import { type Fault, makeFaults } from "./faults.ts";
import { ask, FleetClient } from "./load.ts";
import { LEASE_MS, Replica } from "./replica.ts";
import { openWork, pendingApprovals, summary, type Tables, watchAnswers } from "./tables.ts";

/*
 * Three servers on one PostgreSQL, under load from clients that ask again until they are answered. Servers are killed,
 * stopped for longer than their lease, cut off from the database, robbed of their calls, and given a wrong clock; the
 * database is killed and restarted. Then everything is let come to rest, and an independent check compares what clients
 * were told with what outsiders can see.
 *
 * It was seen to find: a store that does not check fences ("fenced"), a callback that is marked as delivered and not sent
 * ("callback").
 */

const REPLICAS = 3;
const CLIENTS = 8;
const SCHEMA = "fleet";
const FAULTS = countOf("SALLYPORT_FLEET_FAULTS");
const LONGEST_MS = IS_SOAK ? 7_200_000 : 240_000;
/** Callbacks that a killed server was delivering are tried again after a minute. */
const REST_MS = 300_000;
const SEED = seedOf();
const skipped = reasonToSkip("postgres");

it.skipIf(skipped)(
  `a fleet loses no acknowledged outcome and runs nothing twice, whatever fails ${skipped ?? ""} [X-5] [X-9] [D-4] [D-13] [NFR-REL-04]`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-fleet-"));
    const witness = join(folder, "witness.jsonl");
    await using database = await startService("postgres");
    await using receiver = await new Receiver().open();
    const replicas = await startFleet(database.port);
    const connectionString = `postgres://sallyport@127.0.0.1:${database.port}/postgres`;
    const tables = { connectionString, schema: SCHEMA };
    try {
      let isOver = false;
      const over = () => isOver;
      const clients = clientsOf(replicas, { witness, callbackUrl: receiver.url, isOver: over });
      const working = Promise.all(clients.map((client) => client.work()));
      const watching = watchAnswers(tables, over);
      const shared = { database, tables, random: seeded(SEED) };
      const faults = await makeFaults(replicas, shared, { most: FAULTS, untilMs: LONGEST_MS });
      isOver = true;
      await working;
      await comeToRest(replicas, tables);
      const ends = await summary(tables);
      console.log(`fleet, seed ${SEED}: ${JSON.stringify(counted(faults))} ${JSON.stringify(ends)}`);
      const stalls = [
        ...(await watching).map((stall) => ({ ...stall, name: "stall" as const, port: undefined })),
        ...replicas.flatMap(({ stalls, port }) =>
          stalls.map((stall) => ({ ...stall, name: "stall" as const, port })),
        ),
      ];
      const world = {
        ...{ ...tables, witness, leaseMs: LEASE_MS, faults: [...faults, ...stalls] },
        told: clients.flatMap((client) => client.told),
        callbacks: Map.groupBy(receiver.received, ({ path }) => path.slice(1)),
        replicas: replicas.map(({ folder, port, pids }) => ({ folder: folder.folder, port, pids })),
      };
      const broken = [...(await breaches(world)), ...replicas.flatMap(({ ended }) => ended)];
      const said = replicas.map((replica) => replica.said.slice(-2_000)).join("\n---\n");
      expect(broken, `seed ${SEED}\n${said}`).toEqual([]);
      expect(ends.success).toBeGreaterThan(0);
    } finally {
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  LONGEST_MS + 3 * REST_MS,
);

function clientsOf(
  replicas: readonly Replica[],
  shared: { witness: string; callbackUrl: string; isOver: () => boolean },
): FleetClient[] {
  const ports = replicas.map(({ port }) => port);
  const operatorKey = replicas[0]?.folder.operatorKey ?? "";
  return Array.from({ length: CLIENTS }, (_, index) => {
    const random = seeded(SEED + index + 1);
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
  for (let number = 0; number < REPLICAS; number += 1) {
    const replica = await Replica.make(databasePort, SCHEMA);
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
 * What is open after that long is found by the check.
 */
async function comeToRest(replicas: readonly Replica[], tables: Tables): Promise<void> {
  const deadline = performance.now() + REST_MS;
  while (performance.now() < deadline && (await openWork(tables)) > 0) {
    for (const [index, approvalId] of (await pendingApprovals(tables)).entries()) {
      const { port, folder } = replicas[index % replicas.length] as Replica;
      const headers = { authorization: `Bearer ${folder.operatorKey}` };
      await ask(port, { method: "POST", path: `/v1/approvals/${approvalId}:approve`, headers });
    }
    await sleep(500);
  }
}
