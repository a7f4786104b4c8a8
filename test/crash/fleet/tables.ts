import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/* The tables of the fleet, as an outsider with the rights of a process sees them. */

const STALL_MS = 300;

/** Where the tables are. */
export interface Tables {
  connectionString: string;
  schema: string;
}

/** How many calls have no end yet, and how many callbacks are neither delivered nor given up. */
export function openWork(tables: Tables): Promise<number> {
  const open = `SELECT (SELECT count(*) FROM calls WHERE phase NOT IN ('closed', 'unknown'))
    + (SELECT count(*) FROM callbacks WHERE state = 'due') AS open`;
  return reading(tables, async (client) => Number((await client.query(open)).rows[0]?.open));
}

/** The approvals that a person still has to give. */
export function pendingApprovals(tables: Tables): Promise<string[]> {
  const pending = "SELECT approval_id FROM approvals WHERE state = 'pending'";
  return reading(tables, async (client) => (await client.query(pending)).rows.map((row) => row.approval_id));
}

/** How many calls ended how. */
export function summary(tables: Tables): Promise<Record<string, number>> {
  const ends = `SELECT coalesce(answer::json -> 'error' ->> 'code', status, phase) AS status, count(*)::integer AS calls
    FROM calls GROUP BY 1 ORDER BY 1`;
  return reading(tables, async (client) => {
    const { rows } = await client.query<{ status: string; calls: number }>(ends);
    return Object.fromEntries(rows.map(({ status, calls }) => [status, calls]));
  });
}

export async function reading<Result>(
  { connectionString, schema }: Tables,
  read: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString });
  // A database that is killed meanwhile: whatever is asked then rejects by itself.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query(`SET search_path TO ${client.escapeIdentifier(schema)}, public`);
    return await read(client);
  } finally {
    await client.end();
  }
}

/** Watches whether the database answers, until it is told to stop; gives the times when it took long. */
export async function watchAnswers(
  tables: Tables,
  isOver: () => boolean,
): Promise<{ from: number; to: number }[]> {
  const stalls: { from: number; to: number }[] = [];
  while (!isOver()) {
    const from = Date.now();
    await reading(tables, (client) => client.query("SELECT")).catch(() => undefined);
    const to = Date.now();
    if (to - from > STALL_MS) stalls.push({ from, to });
    await sleep(STALL_MS / 2);
  }
  return stalls;
}

/**
 * Takes over the calls of a process whose lease is over, as any other process may, and judges none of them. Says which;
 * none where the database does not answer.
 */
export function takeOver(tables: Tables, pid: number): Promise<string[]> {
  const take = `UPDATE calls SET owner = 'outsider', run_id = 'outsider/' || call_id
    WHERE phase = 'executing' AND owner IN (SELECT instance FROM instances WHERE (about::json ->> 'pid')::integer = $1)
      AND owner NOT IN (SELECT instance FROM instances WHERE expires_at > now_ms()) RETURNING call_id`;
  const taken = reading(tables, async (client) => (await client.query(take, [pid])).rows);
  return taken.then(
    (rows) => rows.map((row) => row.call_id),
    () => [],
  );
}
