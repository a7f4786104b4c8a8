import { cpus, loadavg } from "node:os";
import pg from "pg";
import { reasonToSkip, startService } from "../../../scripts/services.ts";
import { benchCalls, printCalls } from "./bench-calls.ts";
import { benchEvents, printEvents } from "./bench-events.ts";
import { benchQueue, printQueue } from "./bench-queue.ts";
import { benchReplicas, printReplicas } from "./bench-replicas.ts";

/*
 * Many processes on one store, against real servers that sync: every contender in a process of its own, interleaved in
 * rounds. Runs by itself too: `node test/bench/fleet/bench-fleet.ts [calls|queue|replicas|events …]`.
 */

const ROUNDS = Number(process.env.SALLYPORT_BENCH_ROUNDS ?? 3);

const PARTS: Record<string, (url: string) => Promise<unknown>> = {
  calls: async (url) => shown(await benchCalls(url, ROUNDS), printCalls),
  queue: async (url) => shown(await benchQueue(url, ROUNDS), printQueue),
  replicas: async (url) => shown(await benchReplicas(url, ROUNDS), printReplicas),
  events: async () => shown(await benchEvents(ROUNDS), printEvents),
};

function shown<Rows>(rows: Rows, print: (rows: Rows) => void): Rows {
  print(rows);
  return rows;
}

/** Runs the parts, prints them and gives back what came out; says why when there is no PostgreSQL here. */
export async function benchFleet(names: readonly string[] = Object.keys(PARTS)): Promise<object> {
  const why = reasonToSkip("postgres");
  if (why) {
    console.log(`Many processes on one store: not available, ${why}`);
    return {};
  }
  await using postgres = await startService("postgres", { synced: true });
  console.log(`${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}, ${ROUNDS} interleaved rounds`);
  const readings: Record<string, unknown> = {};
  for (const name of names) {
    const part = PARTS[name];
    if (!part) throw new Error(`There is no benchmark "${name}".`);
    // A database of its own, so that no part finds what another has left.
    const url = await newDatabase(postgres.port, name);
    readings[name] = await part(url).catch((error) => console.log(`${name}: not measured, ${error.message}`));
  }
  return readings;
}

async function newDatabase(port: number, name: string): Promise<string> {
  const url = (database: string) => `postgres://sallyport@127.0.0.1:${port}/${database}`;
  const client = new pg.Client({ connectionString: url("postgres") });
  await client.connect();
  await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
  await client.end();
  return url(name);
}

if (import.meta.main) {
  const named = process.argv.slice(2);
  console.log(JSON.stringify(await benchFleet(named.length > 0 ? named : undefined)));
}
