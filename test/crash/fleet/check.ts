import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import type { Told } from "./load.ts";

/*
 * What the fleet promised, compared with what outsiders can see: the tables, the lines the tools wrote, the callbacks
 * that came, the files. It uses nothing of the code it checks: its own SQL, its own hashes.
 */

/** A call as the table has it. */
interface Row {
  call_id: string;
  tool_id: string;
  phase: string;
  status: string | null;
  answer: { result?: unknown; error?: { code: string } } | null;
  parameters: { key: string; counter?: string };
}

/** Where the tables are. */
export interface Tables {
  connectionString: string;
  schema: string;
}

export interface World extends Tables {
  told: readonly Told[];
  witness: string;
  /** Bodies of the callbacks that came, by the key of their call. */
  callbacks: ReadonlyMap<string, readonly string[]>;
  /** Folders of the replicas: a note is in one of them. */
  folders: readonly string[];
}

/** Every promise that was broken; none is the goal. */
export async function breaches(world: World): Promise<string[]> {
  return await reading(world, async (client) => {
    const calls = await readCalls(client);
    const paid = readWitness(world.witness);
    return [
      ...unended(calls),
      ...toldOtherwise(calls, world.told),
      ...paidWrongly(calls, paid),
      ...notedWrongly(calls, world.folders),
      ...calledBackWrongly(world),
      ...(await miscounted(client, calls)),
      ...(await brokenChains(client)),
    ];
  });
}

/** How many calls have no end yet. */
export function openCalls(tables: Tables): Promise<number> {
  const open = "SELECT count(*) AS open FROM calls WHERE phase NOT IN ('closed', 'unknown')";
  return reading(tables, async (client) => Number((await client.query(open)).rows[0]?.open));
}

/** The approvals that a person still has to give. */
export function pendingApprovals(tables: Tables): Promise<string[]> {
  const pending = "SELECT approval_id FROM approvals WHERE state = 'pending'";
  return reading(tables, async (client) => (await client.query(pending)).rows.map((row) => row.approval_id));
}

/** How many calls ended how. */
export function summary(tables: Tables): Promise<Record<string, number>> {
  const ends = "SELECT coalesce(status, phase) AS status, count(*)::integer AS calls FROM calls GROUP BY 1";
  return reading(tables, async (client) => {
    const { rows } = await client.query<{ status: string; calls: number }>(ends);
    return Object.fromEntries(rows.map(({ status, calls }) => [status, calls]));
  });
}

async function reading<Result>(
  { connectionString, schema }: Tables,
  read: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(`SET search_path TO ${client.escapeIdentifier(schema)}, public`);
    return await read(client);
  } finally {
    await client.end();
  }
}

async function readCalls(client: pg.Client): Promise<Map<string, Row>> {
  const { rows } = await client.query(
    "SELECT call_id, tool_id, phase, status, answer, parameters FROM calls",
  );
  const parsed = rows.map((row): Row => {
    const answer = row.answer === null ? null : JSON.parse(row.answer);
    return { ...row, answer, parameters: JSON.parse(row.parameters) };
  });
  return new Map(parsed.map((row) => [row.call_id, row]));
}

function readWitness(file: string): { key: string; callId: string }[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/** Every call has one end by now, also those whose outcome nobody knows. */
function unended(calls: ReadonlyMap<string, Row>): string[] {
  const open = [...calls.values()].filter(({ phase }) => phase !== "closed" && phase !== "unknown");
  return open.map(({ call_id, phase, tool_id }) => `unended: ${tool_id} ${call_id} is ${phase}`);
}

function toldOtherwise(calls: ReadonlyMap<string, Row>, told: readonly Told[]): string[] {
  return told.flatMap(({ order, callId, accepted, status, result, code }) => {
    const call = calls.get(callId ?? "");
    if ((accepted || status === "success" || code === "E3909") && !call)
      return [`lost: ${order.key} (${callId})`];
    if (status !== "success") return [];
    const same = call?.status === "success" && JSON.stringify(call.answer?.result) === JSON.stringify(result);
    return same ? [] : [`lost: ${order.key} was a success and is ${call?.status} on record`];
  });
}

/** At most one run for a key, none without a record, none of a call that is on record as not done. */
function paidWrongly(
  calls: ReadonlyMap<string, Row>,
  paid: readonly { key: string; callId: string }[],
): string[] {
  const times = Map.groupBy(paid, ({ key }) => key);
  const twice = [...times]
    .filter(([, runs]) => runs.length > 1)
    .map(([key, runs]) => `twice: ${key} ran ${runs.length} times`);
  const wrong = paid.flatMap(({ key, callId }) => {
    const call = calls.get(callId);
    if (!call) return [`unrecorded: ${key} was paid`];
    if (call.phase === "unknown" || call.status === "success") return [];
    return [`denied: ${key} was paid and is on record as ${call.status} ${call.answer?.error?.code}`];
  });
  const done = new Set(paid.map(({ callId }) => callId));
  const hollow = [...calls.values()].filter(
    ({ call_id, tool_id, status }) =>
      (tool_id === "pay" || tool_id === "transfer") && status === "success" && !done.has(call_id),
  );
  return [
    ...twice,
    ...wrong,
    ...hollow.map(({ parameters }) => `hollow: ${parameters.key} succeeded and was not paid`),
  ];
}

/** A note is there exactly when its call succeeded. */
function notedWrongly(calls: ReadonlyMap<string, Row>, folders: readonly string[]): string[] {
  const notes = [...calls.values()].filter(({ tool_id, phase }) => tool_id === "note" && phase === "closed");
  return notes.flatMap(({ parameters: { key }, status }) => {
    const places = folders.filter((folder) => existsSync(join(folder, "notes", `${key}.txt`))).length;
    if (places === (status === "success" ? 1 : 0)) return [];
    return [`noted: ${key} is ${status} and its note in ${places} folders`];
  });
}

/** A callback may come twice; it never says two things, and never fails to come. */
function calledBackWrongly({ told, callbacks }: World): string[] {
  return told.flatMap(({ order, accepted }) => {
    const bodies = new Set(callbacks.get(order.key) ?? []);
    if (bodies.size > 1) return [`callback: ${order.key} was told ${bodies.size} different ends`];
    const isDue = accepted && order.isAsync;
    return isDue && bodies.size === 0 ? [`callback: ${order.key} was accepted and never told`] : [];
  });
}

/** Counters stand exactly where the successful calls put them. */
async function miscounted(client: pg.Client, calls: ReadonlyMap<string, Row>): Promise<string[]> {
  const counted = [...calls.values()].filter(
    ({ tool_id, status }) => tool_id === "count" && status === "success",
  );
  const due = Map.groupBy(counted, ({ parameters }) => parameters.counter);
  const { rows } = await client.query<{ key: string; value: string }>(COUNTERS);
  const values = new Map(rows.map(({ key, value }) => [key, Number(value)]));
  return [...due].flatMap(([counter = "", successes]) => {
    const value = values.get(counter);
    return value === successes.length
      ? []
      : [`miscounted: ${counter} is ${value} after ${successes.length} successes`];
  });
}

const COUNTERS = `SELECT DISTINCT ON (key) key, value FROM state JOIN state_scopes USING (scope_id)
  WHERE tool_id = 'count' ORDER BY key, state.version DESC`;

/** Every link follows from the one before it, and every head is the last link of its strand. */
async function brokenChains(client: pg.Client): Promise<string[]> {
  const links = await client.query("SELECT * FROM audit ORDER BY tenant_id, strand, sequence");
  const heads = await client.query("SELECT * FROM audit_heads");
  const strands = Map.groupBy(links.rows, ({ tenant_id, strand }) => `${tenant_id} ${strand}`);
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
