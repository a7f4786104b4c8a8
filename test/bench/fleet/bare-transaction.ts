import pg from "pg";
import type { Contender } from "../measure.ts";

const CONNECTIONS = 16;

/**
 * What a durable call costs at least with `pg`, as an application writes it: BEGIN, a row, an event, COMMIT, with prepared
 * statements over a pool. Nothing is checked, chained or read, and no two transactions touch the same row.
 */
export async function open({ url, bytes }: { url: string; bytes: string }): Promise<Contender> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
  await pool.query(`CREATE SCHEMA IF NOT EXISTS bare;
    CREATE TABLE IF NOT EXISTS bare.calls (id uuid PRIMARY KEY, body text NOT NULL);
    CREATE TABLE IF NOT EXISTS bare.events (id bigserial PRIMARY KEY, call_id uuid NOT NULL, body text NOT NULL)`);
  // Not compressible, as real bodies with their ids and hashes hardly are.
  const half = Buffer.from(crypto.getRandomValues(new Uint8Array(Number(bytes)))).toString("base64");
  const body = half.slice(0, Number(bytes) / 2);
  const call = async () => {
    const client = await pool.connect();
    const id = crypto.randomUUID();
    try {
      await client.query("BEGIN");
      await client.query({
        name: "call",
        text: "INSERT INTO bare.calls VALUES ($1, $2)",
        values: [id, body],
      });
      await client.query({
        name: "event",
        text: "INSERT INTO bare.events (call_id, body) VALUES ($1, $2)",
        values: [id, body],
      });
      await client.query("COMMIT");
    } finally {
      client.release();
    }
  };
  return { name: `two inserts of ${bytes} B in a transaction with pg`, call, close: () => pool.end() };
}
