import { createHash } from "node:crypto";
import type pg from "pg";

/* The audit record, read without the code that wrote it: its chains, and what it says of each call. */

/** What the record says of one call. */
export interface Recorded {
  /** The states that its events name, in the order they were written. */
  states: string[];
  /** The links of its units. */
  receipts: Set<string>;
  /** When its first and its last unit were written, by the clock of the database. */
  from: number;
  to: number;
}

interface Link {
  tenant_id: string;
  strand: number;
  sequence: string;
  hash: string;
  body: string;
  written: number;
}

const LINKS = `SELECT *, extract(epoch FROM written_at)::double precision * 1000 AS written
  FROM audit ORDER BY tenant_id, strand, sequence`;

/** Every link follows from the one before it, and every head is the last link of its strand. */
export async function brokenChains(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<Link>(LINKS);
  const heads = await client.query<Link>("SELECT * FROM audit_heads");
  const strands = Map.groupBy(rows, ({ tenant_id, strand }) => `${tenant_id} ${strand}`);
  return heads.rows.flatMap(({ tenant_id, strand, sequence, hash }) => {
    const name = `${tenant_id} ${strand}`;
    const entries = strands.get(name) ?? [];
    let previous = String(strand).padStart(64, "0");
    for (const [index, entry] of entries.entries()) {
      const text = `${previous}\n${index + 1}\n${entry.body}`;
      previous = createHash("sha256").update(text).digest("hex");
      if (entry.hash !== previous) return [`chain ${name}: unit ${index + 1} does not follow`];
    }
    return entries.length === Number(sequence) && previous === hash
      ? []
      : [`chain ${name}: its head is another`];
  });
}

export async function readRecord(client: pg.Client): Promise<Map<string, Recorded>> {
  const { rows } = await client.query<Link>(LINKS);
  const calls = new Map<string, Recorded>();
  for (const { body, written, hash } of rows.sort((one, other) => one.written - other.written)) {
    const { common = {}, events } = JSON.parse(body) as { common?: object; events: object[] };
    for (const event of events) {
      const { callId, state } = { ...common, ...event } as { callId?: string; state: string };
      if (callId === undefined) continue;
      const recorded = calls.get(callId) ?? { states: [], receipts: new Set(), from: written, to: written };
      recorded.states.push(state);
      recorded.receipts.add(hash);
      calls.set(callId, { ...recorded, to: written });
    }
  }
  return calls;
}
