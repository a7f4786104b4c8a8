import {
  type ArchivedSpan,
  type AuditEntry,
  type AuditReader,
  type CallbackReader,
  type RecordReader,
  type StateReader,
  type StateSnapshot,
  snapshotGone,
  type ToolReader,
} from "@sallyport/engine/ports";
import { callbackOf, linkOf, type Row, storedRecord, strayTenant, toolOf } from "../store-rows/rows.ts";
import type { Database, Value } from "./database.ts";
import { changesOf } from "./permits.ts";
import { encodeText } from "./text.ts";

/** Every tenant and strand with a row, found by the index: one step each, however many rows they have. */
const CHAINS = `WITH RECURSIVE chains AS (
    (SELECT tenant_id, strand FROM audit ORDER BY tenant_id, strand LIMIT 1)
    UNION ALL
    SELECT next.tenant_id, next.strand FROM chains CROSS JOIN LATERAL (
      SELECT tenant_id, strand FROM audit WHERE (tenant_id, strand) > (chains.tenant_id, chains.strand)
      ORDER BY tenant_id, strand LIMIT 1) AS next)`;
/** What `sequence >= …` begins with where there is nothing before. */
const LOWEST = "-9223372036854775808";

/** Reads the audit record. */
export function auditReader(database: Database): AuditReader {
  return {
    tenants: async () => {
      const rows = await database.rows(
        `${CHAINS} SELECT tenant_id FROM chains
          UNION SELECT tenant_id FROM audit_heads WHERE sequence > 0 ORDER BY tenant_id`,
      );
      return rows.map((row) => String(row.tenant_id));
    },
    strands: async (tenant) => {
      const rows = await database.rows(
        `${CHAINS} SELECT strand FROM chains WHERE tenant_id = $1
          UNION SELECT strand FROM audit_heads WHERE tenant_id = $1 AND sequence > 0 ORDER BY strand`,
        [tenant],
      );
      return rows.map(({ strand }) => Number(strand));
    },
    strays: async () => {
      const rows = await database.rows(
        `${CHAINS} SELECT DISTINCT tenant_id, encode(convert_to(tenant_id, 'UTF8'), 'hex') AS bytes FROM chains`,
      );
      return rows
        .filter(
          ({ tenant_id, bytes }) => Buffer.from(encodeText(String(tenant_id))).toString("hex") !== bytes,
        )
        .map(({ bytes }) => strayTenant(String(bytes)));
    },
    heads: async (tenant) => {
      const rows = await database.rows(
        "SELECT strand, sequence, hash FROM audit_heads WHERE tenant_id = $1 AND sequence > 0 ORDER BY strand",
        [tenant],
      );
      return rows.map(linkOf);
    },
    archived: async (tenant) => {
      const rows = await database.rows(
        `SELECT strand, sequence, hash, after_sequence, after_hash FROM audit_archived
          WHERE tenant_id = $1 ORDER BY strand, sequence`,
        [tenant],
      );
      return rows.map(spanOf);
    },
    // Partitions cannot keep one unit from standing twice: the next page begins behind both.
    read: async (tenant, { strand, after, limit }) => {
      const rows = await database.rows(
        `SELECT strand, sequence, hash, body FROM audit
          WHERE tenant_id = $1 AND strand = $2 AND sequence >= $3
          ORDER BY sequence FETCH FIRST $4 ROWS WITH TIES`,
        [tenant, strand, after === Number.NEGATIVE_INFINITY ? LOWEST : after + 1, Math.max(0, limit)],
      );
      return rows.map((row): AuditEntry => ({ ...linkOf(row), body: String(row.body) }));
    },
  };
}

/** A span that begins with the first unit of its strand follows nothing. */
export function spanOf(row: Row): ArchivedSpan {
  const sequence = Number(row.after_sequence);
  return { ...linkOf(row), ...(sequence > 0 && { after: { sequence, hash: String(row.after_hash) } }) };
}

const SCOPE = "state_scopes AS c WHERE c.tenant_id = $1 AND c.tool_id = $2";

/** Reads transactional state at a version. A scope nobody wrote to is at version 0. */
export function stateReader(database: Database): StateReader {
  /** Rows of one statement, which says itself whether the snapshot still sees everything. */
  const seen = async ({ scope, version }: StateSnapshot, text: string, values: Value[]) => {
    const rows = await database.rows(text, [scope.tenant, scope.tool, version, ...values]);
    if (Number(rows[0]?.floor ?? 0) > version) throw snapshotGone(scope);
    return rows;
  };
  return {
    open: async (scope) => {
      const [row] = await database.rows(`SELECT version FROM ${SCOPE}`, [scope.tenant, scope.tool]);
      return { scope: { ...scope }, version: Number(row?.version ?? 0) };
    },
    get: async (snapshot, key) => {
      const [row] = await seen(
        snapshot,
        `SELECT c.floor, s.* FROM (SELECT * FROM ${SCOPE}) AS c LEFT JOIN LATERAL (
            SELECT version, value FROM state WHERE scope_id = c.scope_id AND key = $4 AND version <= $3
            ORDER BY version DESC LIMIT 1) AS s ON true`,
        [key],
      );
      if (typeof row?.value !== "string") return undefined;
      return { value: JSON.parse(row.value), version: Number(row.version) };
    },
    keys: async (snapshot, { prefix, limit }) => {
      const rows = await seen(
        snapshot,
        `SELECT c.floor, s.* FROM (SELECT * FROM ${SCOPE}) AS c LEFT JOIN LATERAL (
            SELECT key FROM (SELECT DISTINCT ON (key) key, value FROM state
                WHERE scope_id = c.scope_id AND key >= $4 AND starts_with(key, $4) AND version <= $3
                ORDER BY key, version DESC) AS newest
              WHERE value IS NOT NULL ORDER BY key LIMIT $5) AS s ON true
          ORDER BY key`,
        [prefix, Math.max(0, limit)],
      );
      return rows.flatMap(({ key }) => (typeof key === "string" ? key : []));
    },
    writtenBy: async (scope, callId) => {
      const [row] = await database.rows(
        `SELECT count(*) AS entries FROM state
          WHERE call_id = $3 AND scope_id = (SELECT scope_id FROM ${SCOPE})`,
        [scope.tenant, scope.tool, callId],
      );
      return Number(row?.entries ?? 0);
    },
  };
}

const TOOLS = `SELECT position, manifest, manifest_hash, registered_at, retirement, module, quarantine, revision
  FROM tools`;

/** Reads tool versions. */
export function toolReader(database: Database): ToolReader {
  return { changedSince: (cursor) => changesOf(database, { select: TOOLS, cursor, of: toolOf }) };
}

const LIVE_RECORDS =
  "SELECT * FROM records WHERE (expires_at IS NULL OR expires_at > now_ms()) AND kind = $1";

/** Reads records that have not expired. */
export function recordReader(database: Database): RecordReader {
  return {
    get: async (kind, id) =>
      (await database.rows(`${LIVE_RECORDS} AND id = $2`, [kind, id])).map(storedRecord)[0],
    list: async (kind, { after, limit }) => {
      const rows = await database.rows(
        `${LIVE_RECORDS} AND ($2::text IS NULL OR id > $2) ORDER BY id LIMIT $3`,
        [kind, after ?? null, Math.max(0, limit)],
      );
      return rows.map(storedRecord);
    },
  };
}

/** Reads callbacks. */
export function callbackReader(database: Database): CallbackReader {
  return {
    ofCall: async (callId: string) => {
      const [row] = await database.rows("SELECT * FROM callbacks WHERE call_id = $1", [callId]);
      return row && callbackOf(row);
    },
  };
}
