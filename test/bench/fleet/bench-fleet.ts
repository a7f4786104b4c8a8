import { cpus, loadavg } from "node:os";
import { benchEvents, printEvents } from "./bench-events.ts";

/*
 * What leaves and enters many processes on one store, against real servers, interleaved in rounds. Runs by itself too:
 * `node test/bench/fleet/bench-fleet.ts [events]`.
 */

const ROUNDS = Number(process.env.SALLYPORT_BENCH_ROUNDS ?? 3);

const PARTS: Record<string, () => Promise<unknown>> = {
  events: async () => shown(await benchEvents(ROUNDS), printEvents),
};

function shown<Rows>(rows: Rows, print: (rows: Rows) => void): Rows {
  print(rows);
  return rows;
}

/** Runs the parts, prints them and gives back what came out. */
export async function benchFleet(names: readonly string[] = Object.keys(PARTS)): Promise<object> {
  console.log(`${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}, ${ROUNDS} interleaved rounds`);
  const readings: Record<string, unknown> = {};
  for (const name of names) {
    const part = PARTS[name];
    if (!part) throw new Error(`There is no benchmark "${name}".`);
    readings[name] = await part();
  }
  return readings;
}

if (import.meta.main) {
  const named = process.argv.slice(2);
  console.log(JSON.stringify(await benchFleet(named.length > 0 ? named : undefined)));
}
