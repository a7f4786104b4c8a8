import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { reasonToSkip, startService } from "../../../scripts/services.ts";
import { countOf, IS_SOAK, seedOf } from "../../counts.ts";
import { Receiver } from "../../e2e/http/fixtures/receiver.ts";
import { seeded } from "../seeded.ts";
import { breaches, openCalls, pendingApprovals, summary } from "./check.ts";
import { makeFaults } from "./faults.ts";
import { ask, FleetClient } from "./load.ts";
import { Replica } from "./replica.ts";

/*
 * Three servers on one PostgreSQL, under load from clients that ask again until they are answered. Servers are killed,
 * stopped for longer than their lease, cut off from the database, and given a wrong clock; the database is killed and
 * restarted. Then everything is let come to rest, and an independent check compares what clients were told with what
 * outsiders can see.
 */

const REPLICAS = 3;
const CLIENTS = 8;
const SCHEMA = "fleet";
const FAULTS = countOf("SALLYPORT_FLEET_FAULTS");
const LONGEST_MS = IS_SOAK ? 3_600_000 : 240_000;
const REST_MS = 120_000;
const SEED = seedOf();
const skipped = FAULTS === 0 ? "(runs in npm run soak)" : reasonToSkip("postgres");

it.skipIf(skipped)(
  `a fleet loses no acknowledged outcome and runs nothing twice, whatever fails ${skipped ?? ""} [X-5] [X-9] [D-4] [D-13] [NFR-REL-04]`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-fleet-"));
    await using database = await startService("postgres");
    await using receiver = await new Receiver().open();
    const replicas = await startFleet(database.port);
    try {
      const random = seeded(SEED);
      const witness = join(folder, "witness.jsonl");
      let isOver = false;
      const clients = Array.from({ length: CLIENTS }, (_, index) => {
        const ports = replicas.map(({ port }) => port);
        const { operatorKey } = replicas[0]?.folder ?? { operatorKey: "" };
        const shared = { ports, operatorKey, witness, callbackUrl: receiver.url, isOver: () => isOver };
        return new FleetClient({ ...shared, name: `c${index}`, random: seeded(SEED + index + 1) });
      });
      const working = Promise.all(clients.map((client) => client.work()));
      const made = await makeFaults(replicas, { database, random }, { most: FAULTS, untilMs: LONGEST_MS });
      isOver = true;
      await working;
      const connectionString = `postgres://sallyport@127.0.0.1:${database.port}/postgres`;
      await comeToRest(replicas, connectionString);
      const told = clients.flatMap((client) => client.told);
      const callbacks = Map.groupBy(receiver.received, ({ path }) => path.slice(1));
      const world = {
        ...{ connectionString, schema: SCHEMA, told, witness },
        callbacks: new Map([...callbacks].map(([key, came]) => [key, came.map(({ body }) => body)])),
        folders: replicas.map((replica) => replica.folder.folder),
      };
      console.log(`fleet, seed ${SEED}: ${JSON.stringify(made)} ${JSON.stringify(await summary(world))}`);
      const said = replicas.map((replica) => replica.said.slice(-2_000)).join("\n---\n");
      expect(await breaches(world), `seed ${SEED}\n${said}`).toEqual([]);
      expect(told.some(({ status }) => status === "success")).toBe(true);
    } finally {
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  LONGEST_MS + 3 * REST_MS,
);

/** The first one makes tables and keys; the others get its keys, as an operator would distribute them. */
async function startFleet(databasePort: number): Promise<Replica[]> {
  const replicas: Replica[] = [];
  for (let number = 0; number < REPLICAS; number += 1) {
    const replica = await Replica.make(databasePort, SCHEMA);
    const [first] = replicas;
    if (first) cpSync(keysOf(first), keysOf(replica), { recursive: true });
    await replica.start();
    replicas.push(replica);
  }
  return replicas;
}

function keysOf({ folder }: Replica): string {
  return join(folder.stateFolder, "keys");
}

/** No more faults: what waits for a person is approved, and everything that was accepted comes to its end. */
async function comeToRest(replicas: readonly Replica[], connectionString: string): Promise<void> {
  const world = { connectionString, schema: SCHEMA };
  const deadline = performance.now() + REST_MS;
  while (performance.now() < deadline && (await openCalls(world)) > 0) {
    for (const [index, approvalId] of (await pendingApprovals(world)).entries()) {
      const { port, folder } = replicas[index % replicas.length] as Replica;
      const headers = { authorization: `Bearer ${folder.operatorKey}` };
      await ask(port, { method: "POST", path: `/v1/approvals/${approvalId}:approve`, headers });
    }
    await sleep(500);
  }
  // Callbacks of the last ones.
  await sleep(5_000);
}
