import pg from "pg";
import { familyCpuMsOf, parentOf } from "../cpu-time.ts";

/** A reader of the processor time that all processes of the PostgreSQL server have used so far, in milliseconds. */
export async function postgresCpu(url: string): Promise<() => number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  // Every connection has a process, which the one that listens has started.
  const postmaster = parentOf(rows[0]?.pid ?? 0);
  await client.end();
  return () => familyCpuMsOf(postmaster);
}
