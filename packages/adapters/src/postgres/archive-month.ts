import { createHash } from "node:crypto";
import { pipeline, Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { setTimeout as sleep } from "node:timers/promises";
import { createGunzip, createGzip } from "node:zlib";
import { genesis } from "@sallyport/engine/chain";
import {
  type ArchivedLink,
  closingLine,
  ExportCheck,
  exportEntry,
  openingLine,
} from "@sallyport/engine/host";
import type { ArchivedPart, ArchiveOrder, AuditEntry, AuditLink } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import type { Client } from "./driver.ts";
import { isLockTimeout } from "./failures.ts";
import { encodeText } from "./text.ts";

const PAGE = 500;
/** Writers wait so long at most for a month to be dropped, so often in a turn, with pauses between. */
const LOCK_MS = 100;
const LOCK_TRIES = 10;
const LOCK_PAUSE_MS = 250;

/** A strand of a month: the newest link before it, and its last one in it. */
interface Strand {
  tenant: string;
  strand: number;
  before: AuditLink | undefined;
  /** Absent where the strand has no unit in the month. */
  last: AuditLink | undefined;
  /** Whether the record goes on behind the last one as it should. */
  goesOn: boolean;
}

interface Month {
  client: Client;
  /** Of the form `2026-08`. */
  month: string;
  table: string;
  strands: Strand[];
  order: ArchiveOrder;
}

/** What the export of a month is. */
interface Written {
  name: string;
  digest: string;
  units: number;
}

/**
 * Moves one month: checks it, puts its export, reads that back, and only then drops the month. What was put and read back
 * is not done again by a later try, unless the month has changed. Rejects with why the month stays.
 */
export async function moveMonth(client: Client, month: string, order: ArchiveOrder): Promise<ArchivedPart> {
  const table = `audit_${month.replace("-", "_")}`;
  const of: Month = { client, month, table, order, strands: await strandsOf(client, { table, month }) };
  const ends = JSON.stringify(
    of.strands.flatMap(({ last, ...strand }) => (last ? [{ ...strand, last }] : [])),
  );
  if (ends === "[]") return { month, units: order.isTrial ? 0 : await drop(of, { units: 0, name: null }) };
  const { rows } = await client.query<{ name: string; units: number }>(
    "SELECT name, units FROM audit_months WHERE month = $1 AND ends = $2",
    [month, ends],
  );
  const known = rows[0];
  if (known) return { month, name: known.name, units: order.isTrial ? known.units : await drop(of, known) };
  const checked = await check(of);
  const { name, units } = checked;
  if (order.isTrial) return { month, name, units };
  await put(of, checked);
  await client.query(
    `INSERT INTO audit_months (month, name, units, ends) VALUES ($1, $2, $3, $4)
      ON CONFLICT (month) DO UPDATE SET name = excluded.name, units = excluded.units, ends = excluded.ends`,
    [month, name, units, ends],
  );
  return { month, name, units: await drop(of, checked) };
}

/**
 * The strands of the month's tenants, also those without a unit in it: anchors name them. Every step goes by the index;
 * nothing is sorted.
 */
async function strandsOf(
  client: Client,
  { table, month }: { table: string; month: string },
): Promise<Strand[]> {
  const { rows } = await client.query<Record<string, string | number | boolean | null>>(
    `WITH RECURSIVE here AS (
        (SELECT tenant_id, strand FROM ${table} ORDER BY tenant_id, strand LIMIT 1)
        UNION ALL
        SELECT next.tenant_id, next.strand FROM here CROSS JOIN LATERAL (
          SELECT tenant_id, strand FROM ${table} WHERE (tenant_id, strand) > (here.tenant_id, here.strand)
          ORDER BY tenant_id, strand LIMIT 1) AS next),
      every AS (
        SELECT tenant_id, strand FROM here
        UNION SELECT tenant_id, strand FROM audit_heads WHERE tenant_id IN (SELECT tenant_id FROM here)
        UNION SELECT tenant_id, strand FROM audit_archived WHERE tenant_id IN (SELECT tenant_id FROM here))
    SELECT e.tenant_id AS tenant, e.strand, b.sequence AS before, b.hash AS before_hash, l.sequence AS last, l.hash,
      coalesce(h.sequence > l.sequence OR (h.sequence, h.hash) = (l.sequence, l.hash), false)
        AND (h.sequence = l.sequence
          OR EXISTS (SELECT FROM audit AS n
            WHERE n.tenant_id = e.tenant_id AND n.strand = e.strand AND n.sequence = l.sequence + 1)
          OR EXISTS (SELECT FROM audit_archived AS a WHERE a.tenant_id = e.tenant_id AND a.strand = e.strand
            AND (a.after_sequence, a.after_hash) = (l.sequence, l.hash))) AS goes_on
    FROM every AS e
    LEFT JOIN audit_heads AS h USING (tenant_id, strand)
    LEFT JOIN LATERAL (SELECT sequence FROM ${table} AS t WHERE t.tenant_id = e.tenant_id AND t.strand = e.strand
      ORDER BY sequence LIMIT 1) AS f ON true
    LEFT JOIN LATERAL (SELECT sequence, hash FROM ${table} AS t WHERE t.tenant_id = e.tenant_id AND t.strand = e.strand
      ORDER BY sequence DESC LIMIT 1) AS l ON true
    LEFT JOIN LATERAL (SELECT sequence, hash FROM (
        (SELECT sequence, hash FROM audit_archived AS a WHERE a.tenant_id = e.tenant_id AND a.strand = e.strand
          AND (f.sequence IS NULL OR a.sequence < f.sequence) ORDER BY sequence DESC LIMIT 1)
        UNION ALL
        (SELECT sequence, hash FROM audit AS u WHERE u.tenant_id = e.tenant_id AND u.strand = e.strand
          AND u.written_at < $1 AND (f.sequence IS NULL OR u.sequence < f.sequence) ORDER BY sequence DESC LIMIT 1)
      ) AS earlier ORDER BY sequence DESC LIMIT 1) AS b ON true
    ORDER BY e.tenant_id, e.strand`,
    [`${month}-01 00:00:00+00`],
  );
  return rows.map((row) => {
    const strand = Number(row.strand);
    const link = (sequence: unknown, hash: unknown) =>
      sequence === null ? undefined : { strand, sequence: Number(sequence), hash: String(hash) };
    const [before, last] = [link(row.before, row.before_hash), link(row.last, row.hash)];
    return { tenant: String(row.tenant), strand, before, last, goesOn: row.goes_on === true };
  });
}

/** Reads the month once, and throws E3804 unless its export is a whole part of the chain. */
async function check(of: Month): Promise<Written> {
  const verified = new ExportCheck();
  const digest = createHash("sha256");
  let units = 0;
  for await (const { text, units: sofar } of exported(of)) {
    digest.update(text);
    for (const line of text.split("\n")) if (line !== "") verified.add(line);
    units = sofar;
    of.order.onProgress?.({ month: of.month, step: "check", units });
  }
  const { chains, problems } = verified.finish();
  const torn = of.strands.filter(({ last, goesOn }) => last && !goesOn);
  const wrong = [
    ...problems,
    ...chains.flatMap(({ findings }) => findings.map(({ message }) => message)),
    ...torn.map(
      ({ strand, last }) => `strand ${strand} does not go on from unit ${last?.sequence} as its head says`,
    ),
  ];
  // Named after what it holds: stores that share a place never meet, and a second try meets itself.
  const sum = digest.digest("hex");
  if (wrong.length === 0)
    return { name: `audit/${of.month}-${sum.slice(0, 24)}.ndjson.gz`, digest: sum, units };
  const message = `The month ${of.month} of the audit record stays in the database, because it does not verify: ${wrong[0]}.`;
  throw new SallyportError(
    failure("E3804", { message, details: { month: of.month, problems: wrong.length } }),
  );
}

/** The month as `sallyport audit export` would write it, in pieces, with the number of units so far. */
async function* exported(of: Month): AsyncGenerator<{ text: string; units: number }> {
  const { strands } = of;
  const after = strands.flatMap(({ tenant, before }): ArchivedLink[] =>
    before ? [{ tenant, ...before }] : [],
  );
  if (after.length > 0) yield { text: `${openingLine(after)}\n`, units: 0 };
  const events = new Map<string, number>();
  let units = 0;
  for await (const page of pagesOf(of)) {
    let text = "";
    for (const { tenant, ...entry } of page) {
      const lines = linesOf(entry);
      const chain = JSON.stringify([tenant, entry.strand]);
      events.set(chain, (events.get(chain) ?? 0) + lines.length);
      for (const line of lines) text += `${JSON.stringify(line)}\n`;
    }
    units += page.length;
    yield { text, units };
  }
  const chains = strands.flatMap(({ tenant, strand, last }) =>
    last ? [{ tenant, ...last, events: events.get(JSON.stringify([tenant, strand])) ?? 0 }] : [],
  );
  yield { text: `${closingLine(chains)}\n`, units };
}

/** Only a forged unit has no line in an export, or a number that cannot be told from the next one. */
function linesOf(entry: AuditEntry) {
  try {
    if (!Number.isSafeInteger(entry.sequence)) throw new RangeError("the sequence is too large");
    return exportEntry(entry);
  } catch (cause) {
    const message = `Unit ${entry.sequence} of strand ${entry.strand} of the audit record cannot be exported.`;
    throw new SallyportError(failure("E3804", { message }), { cause });
  }
}

type StoredEntry = AuditEntry & { tenant: string };

async function* pagesOf({ client, table, order }: Month): AsyncGenerator<StoredEntry[]> {
  const select = `SELECT tenant_id AS tenant, strand, sequence, hash, body FROM ${table}`;
  const sorted = `ORDER BY tenant_id, strand, sequence LIMIT ${PAGE}`;
  let { rows } = await client.query<StoredEntry>(`${select} ${sorted}`);
  while (rows.length > 0) {
    order.signal?.throwIfAborted();
    yield rows;
    const { tenant, strand, sequence } = rows.at(-1) as StoredEntry;
    const place = [encodeText(tenant), strand, sequence];
    const behind = "WHERE (tenant_id, strand, sequence) > ($1, $2, $3)";
    ({ rows } = await client.query<StoredEntry>(`${select} ${behind} ${sorted}`, place));
  }
}

/** Puts the export and reads it back; only reads where an earlier try has put it. E3949 unless the place has every byte. */
async function put(of: Month, { name, digest }: Written): Promise<void> {
  const { blobs, onProgress } = of.order;
  if ((await digestOf(await blobs.get(name))) === digest) return;
  // Compressed, because a blob has 5 GiB at most, and a month of many millions of units is larger.
  const packed = pipeline(Readable.from(bytesOf(of)), createGzip(), () => undefined);
  await blobs.put(name, packed, { contentType: "application/gzip" });
  onProgress?.({ month: of.month, step: "read back", units: 0 });
  if ((await digestOf(await blobs.get(name))) === digest) return;
  throw new SallyportError(failure("E3949", { message: `The blob ${name} is not what was put.` }));
}

async function* bytesOf(of: Month): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const { text, units } of exported(of)) {
    of.order.onProgress?.({ month: of.month, step: "write", units });
    yield encoder.encode(text);
  }
}

/** Of what is packed in it; empty for a blob that is missing or no export. */
async function digestOf(stream: ReadableStream<Uint8Array> | undefined): Promise<string> {
  const digest = createHash("sha256");
  if (!stream) return "";
  try {
    // What fails here is thrown where it is read.
    const pieces = pipeline(Readable.fromWeb(stream), createGunzip(), () => undefined);
    for await (const bytes of pieces) digest.update(bytes);
  } catch (error) {
    // What was read is not what `createGzip` gives.
    if (String((error as { code?: unknown }).code).startsWith("Z_")) return "";
    throw error;
  }
  return digest.digest("hex");
}

/** Notes where the archived part ends and drops the month, in one transaction; says how many units it had. */
async function drop(of: Month, { units, name }: { units: number; name: string | null }): Promise<number> {
  const { client, month, table } = of;
  await client.query("BEGIN");
  await client.query(`SET LOCAL lock_timeout TO ${LOCK_MS}`);
  await client.query(`LOCK TABLE ${table} IN SHARE MODE`);
  const { rows } = await client.query<{ units: number }>(`SELECT count(*) AS units FROM ${table}`);
  if (rows[0]?.units !== units)
    throw new SallyportError(failure("E3914", { message: `${table} was written to while it was archived.` }));
  for (const { tenant, strand, before = genesis(strand), last } of of.strands)
    if (last)
      await client.query("SELECT note_archived(ROW($1, $2, $3, $4, $5, $6, $7)::audit_archived)", [
        ...[encodeText(tenant), strand, last.sequence, last.hash, name],
        ...[before.sequence, before.hash],
      ]);
  await client.query(
    `INSERT INTO audit_months (month, name, units, archived_at) VALUES ($1, $2, $3, now_ms())
      ON CONFLICT (month) DO UPDATE SET name = excluded.name, units = excluded.units,
        archived_at = excluded.archived_at, problem = NULL, tries = 0, retry_at = 0`,
    [month, name, units],
  );
  await dropTable(of);
  await client.query("COMMIT");
  return units;
}

/** Every commit waits while the lock is, and while it is waited for: that is short, and tried again after a pause. */
async function dropTable({ client, table, order }: Month): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await client.query("SAVEPOINT before_lock");
    try {
      await client.query("LOCK TABLE ONLY audit IN ACCESS EXCLUSIVE MODE");
      await client.query(`DROP TABLE ${table}`);
      return;
    } catch (error) {
      if (!isLockTimeout(error) || tries === LOCK_TRIES) throw error;
      await client.query("ROLLBACK TO SAVEPOINT before_lock");
      await sleep(LOCK_PAUSE_MS, undefined, { signal: order.signal });
    }
  }
}
