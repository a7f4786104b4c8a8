import { createHash, type Hash } from "node:crypto";
import type { ReadableStream } from "node:stream/web";
import {
  type ArchivedLink,
  closingLine,
  ExportCheck,
  exportEntry,
  openingLine,
} from "@sallyport/engine/host";
import type { ArchivedPart, AuditArchiver, AuditEntry, Blobs } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import type { Database } from "./database.ts";
import type { PoolClient } from "./driver.ts";
import { failedBy } from "./failures.ts";
import { encodeText } from "./text.ts";

const PAGE = 500;
/** Writers wait so long at most for a month to be dropped; it is tried again at the next turn. */
const LOCK_MS = 2_000;

/** One month of the record on its way out. */
interface Month {
  client: PoolClient;
  /** Of the form `audit_2026_08`. */
  table: string;
  /** Where each of its strands begins and ends. */
  after: ArchivedLink[];
  last: ArchivedLink[];
}

/** Moves months of the audit record to the archive; one process at a time does. */
export function auditArchiver(database: Database): AuditArchiver {
  return {
    archiveAudit: async ({ blobs, keepMs }) => {
      const client = await database.connect().catch((error: unknown) => {
        throw failedBy(error, "The audit record could not be archived");
      });
      // Nothing is asked of the connection while a blob is put: losing it then must not end the process.
      const onError = () => undefined;
      client.on("error", onError);
      let problem: Error | undefined;
      try {
        return await archiveMonths(client, { blobs, keepMs });
      } catch (error) {
        problem = error instanceof Error ? error : new Error(String(error));
        throw error instanceof SallyportError
          ? error
          : failedBy(error, "The audit record could not be archived");
      } finally {
        client.off("error", onError);
        // The lock goes with a connection that is not given back.
        client.release(problem);
      }
    },
  };
}

async function archiveMonths(
  client: PoolClient,
  { blobs, keepMs }: { blobs: Blobs; keepMs: number },
): Promise<ArchivedPart[]> {
  const lock = "(hashtext('sallyport-archive'), hashtext(current_schema()))";
  const { rows } = await client.query<{ mine: boolean }>(`SELECT pg_try_advisory_lock${lock} AS mine`);
  if (!rows[0]?.mine) return [];
  const due = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid
      WHERE inhparent = 'audit'::regclass AND relname ~ '^audit_[0-9]{4}_[0-9]{2}$'
        AND to_date(right(relname, 7), 'YYYY_MM') + interval '1 month' <= as_time(now_ms() - $1)
      ORDER BY relname`,
    [keepMs],
  );
  const parts: ArchivedPart[] = [];
  for (const { name } of due.rows) parts.push(await archiveMonth(await monthOf(client, name), blobs));
  await client.query(`SELECT pg_advisory_unlock${lock}`);
  return parts;
}

async function monthOf(client: PoolClient, table: string): Promise<Month> {
  const links = "tenant_id AS tenant, strand, sequence, hash";
  const last = await client.query<ArchivedLink>(
    `SELECT DISTINCT ON (tenant_id, strand) ${links} FROM ${table} ORDER BY tenant_id, strand, sequence DESC`,
  );
  const after = await client.query<ArchivedLink>(
    `SELECT ${links} FROM audit_archived AS a
      WHERE EXISTS (SELECT FROM ${table} AS t WHERE t.tenant_id = a.tenant_id AND t.strand = a.strand)
      ORDER BY tenant_id, strand`,
  );
  return { client, table, after: after.rows, last: last.rows };
}

/** Puts the month, reads it back, and only then drops it. */
async function archiveMonth(of: Month, blobs: Blobs): Promise<ArchivedPart> {
  const month = of.table.slice("audit_".length).replace("_", "-");
  if (of.last.length === 0) return { month, units: await drop(of, { units: 0 }) };
  // Named after what it holds: stores that share a place never meet, and a second try meets itself.
  const about = createHash("sha256")
    .update(JSON.stringify([month, of.after, of.last]))
    .digest("hex");
  const name = `audit/${month}-${about.slice(0, 24)}.ndjson`;
  const written = { digest: createHash("sha256"), units: 0 };
  await blobs.put(name, exported(of, written), { contentType: "application/x-ndjson" });
  await requireSame(await blobs.get(name), { name, digest: written.digest.digest("hex") });
  return { month, name, units: await drop(of, { units: written.units, name }) };
}

/** The month as `sallyport audit export` would write it, beginning after what is archived already. */
async function* exported(of: Month, written: { digest: Hash; units: number }): AsyncGenerator<Uint8Array> {
  const chains = new Map(
    of.last.map((link) => [JSON.stringify([link.tenant, link.strand]), { ...link, events: 0 }]),
  );
  const piece = (text: string) => {
    const bytes = new TextEncoder().encode(text);
    written.digest.update(bytes);
    return bytes;
  };
  if (of.after.length > 0) yield piece(`${openingLine(of.after)}\n`);
  for await (const { tenant, entry } of entriesOf(of)) {
    const events = exportEntry(entry);
    const chain = chains.get(JSON.stringify([tenant, entry.strand]));
    if (chain) chain.events += events.length;
    written.units += 1;
    yield piece(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  }
  yield piece(`${closingLine([...chains.values()])}\n`);
}

type StoredEntry = AuditEntry & { tenant: string };

async function* entriesOf({ client, table }: Month): AsyncGenerator<{ tenant: string; entry: AuditEntry }> {
  let place: [tenant: string, strand: number, sequence: number] = ["", 0, 0];
  for (let isMore = true; isMore; ) {
    const { rows } = await client.query<StoredEntry>(
      `SELECT tenant_id AS tenant, strand, sequence, hash, body FROM ${table}
        WHERE (tenant_id, strand, sequence) > ($1, $2, $3) ORDER BY tenant_id, strand, sequence LIMIT ${PAGE}`,
      [encodeText(place[0]), place[1], place[2]],
    );
    for (const { tenant, ...entry } of rows) {
      place = [tenant, entry.strand, entry.sequence];
      yield { tenant, entry };
    }
    isMore = rows.length === PAGE;
  }
}

/** Throws E3949 unless the blob has every byte that was put, E3804 unless it is a whole part of the chain. */
async function requireSame(
  stream: ReadableStream<Uint8Array> | undefined,
  { name, digest }: { name: string; digest: string },
): Promise<void> {
  const [read, check, decoder] = [createHash("sha256"), new ExportCheck(), new TextDecoder()];
  let rest = "";
  for await (const bytes of stream ?? []) {
    read.update(bytes);
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) check.add(line);
  }
  if (read.digest("hex") !== digest)
    throw new SallyportError(failure("E3949", { message: `The blob ${name} is not what was put.` }));
  const { chains, problems } = check.finish();
  const wrong = [...problems, ...chains.flatMap(({ findings }) => findings.map(({ message }) => message))];
  if (wrong.length === 0) return;
  const message = `The audit record stays in the database, because its export ${name} does not verify: ${wrong[0]}.`;
  throw new SallyportError(failure("E3804", { message, details: { name, problems: wrong.length } }));
}

/** Notes where the archived part ends and drops the month, together; says how many units it had. */
async function drop(
  { client, table, last }: Month,
  { units, name = null }: { units: number; name?: string | null },
): Promise<number> {
  await client.query("BEGIN");
  await client.query(`SET LOCAL lock_timeout TO ${LOCK_MS}`);
  await client.query(`LOCK TABLE ${table} IN SHARE MODE`);
  const { rows } = await client.query<{ units: number }>(`SELECT count(*) AS units FROM ${table}`);
  if (rows[0]?.units !== units)
    throw new SallyportError(failure("E3914", { message: `${table} was written to while it was archived.` }));
  await client.query(
    `INSERT INTO audit_archived SELECT *, $5 FROM unnest($1::text[], $2::integer[], $3::bigint[], $4::text[])
      ON CONFLICT (tenant_id, strand)
      DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash, archive = excluded.archive`,
    [
      last.map(({ tenant }) => encodeText(tenant)),
      last.map(({ strand }) => strand),
      last.map(({ sequence }) => sequence),
      last.map(({ hash }) => hash),
      name,
    ],
  );
  // Every commit waits from here on, so this comes last.
  await client.query("LOCK TABLE ONLY audit IN ACCESS EXCLUSIVE MODE");
  await client.query(`DROP TABLE ${table}`);
  await client.query("COMMIT");
  return units;
}
