import { cpus } from "node:os";
import { MANY_CALLERS } from "../measure.ts";
import { postgresCpu } from "./postgres-cpu.ts";
import { type RemoteContender, type RemoteReading, startContender } from "./remote-contender.ts";

export interface ReplicaRow {
  replicas: number;
  perSecond: number;
  ofOne: number;
  p50Ms: number;
  /** Processor time a call, in all replicas together and in PostgreSQL. */
  replicaCpuUs: number;
  postgresCpuUs: number;
  /** How many processors both keep busy. */
  busy: number;
}

const MOST_REPLICAS = 3;
const LOAD = { callers: MANY_CALLERS, ms: 2_000 };

/** Guarded calls by one to three processes on one PostgreSQL, each with 64 callers. */
export async function benchReplicas(url: string, rounds: number): Promise<ReplicaRow[]> {
  const replicas: RemoteContender[] = [];
  const module = new URL("./guarded-call.ts", import.meta.url);
  const rows = new Map<number, ReplicaRow[]>();
  const serverCpu = await postgresCpu(url);
  try {
    for (let count = 0; count < MOST_REPLICAS; count += 1)
      replicas.push(await startContender(module, { url, schema: "replicas" }));
    for (const replica of replicas) await replica.measure(LOAD);
    for (let round = 1; round <= rounds; round += 1)
      for (let count = 1; count <= MOST_REPLICAS; count += 1) {
        const row = await load(replicas.slice(0, count), serverCpu);
        rows.set(count, [...(rows.get(count) ?? []), row]);
      }
  } finally {
    await Promise.all(replicas.map((replica) => replica.close()));
  }
  const middles = [...rows.values()].map((all) => middle(all));
  return middles.map((row) => ({ ...row, ofOne: row.perSecond / (middles[0]?.perSecond ?? 0) }));
}

async function load(replicas: readonly RemoteContender[], serverCpu: () => number): Promise<ReplicaRow> {
  const [started, cpuBefore] = [performance.now(), serverCpu()];
  const readings: RemoteReading[] = await Promise.all(replicas.map((replica) => replica.measure(LOAD)));
  const seconds = (performance.now() - started) / 1_000;
  const postgresMs = serverCpu() - cpuBefore;
  const perSecond = sum(readings.map((reading) => reading.perSecond));
  const replicaCpuUs = sum(readings.map(({ cpuUs, perSecond }) => cpuUs * perSecond)) / perSecond;
  const postgresCpuUs = (postgresMs * 1_000) / (perSecond * seconds);
  return {
    replicas: replicas.length,
    perSecond,
    ofOne: 1,
    p50Ms: sum(readings.map(({ p50Us }) => p50Us)) / readings.length / 1_000,
    replicaCpuUs,
    postgresCpuUs,
    busy: ((replicaCpuUs + postgresCpuUs) * perSecond) / 1_000_000,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function middle(rows: readonly ReplicaRow[]): ReplicaRow {
  const sorted = rows.toSorted((a, b) => a.perSecond - b.perSecond);
  const row = sorted[Math.floor(sorted.length / 2)];
  if (!row) throw new Error("nothing was measured");
  return row;
}

/** As a table for people. */
export function printReplicas(rows: readonly ReplicaRow[]): void {
  console.log(`\nReplicas on one PostgreSQL, ${MANY_CALLERS} callers each, ${cpus().length} cores for all`);
  console.table(
    Object.fromEntries(
      rows.map(({ replicas, ...row }) => [
        `${replicas} replica${replicas > 1 ? "s" : ""}`,
        {
          "calls/s": Math.round(row.perSecond),
          "× one": row.ofOne.toFixed(2),
          "p50 ms": row.p50Ms.toFixed(1),
          "replica cpu µs/call": Math.round(row.replicaCpuUs),
          "PostgreSQL cpu µs/call": Math.round(row.postgresCpuUs),
          "cores busy": row.busy.toFixed(2),
        },
      ]),
    ),
  );
}
