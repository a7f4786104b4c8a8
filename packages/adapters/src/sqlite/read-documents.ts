import type { DatabaseSync } from "node:sqlite";
import {
  type AuditEntry,
  type AuditReader,
  type InstanceRecord,
  type RecordReader,
  type StateReader,
  type StateScope,
  type StateSnapshot,
  snapshotGone,
  type ToolReader,
} from "@sallyport/engine/ports";
import { instanceOf, linkOf, type Row, storedRecord, strayTenant, toolOf } from "../store-rows/rows.ts";
import { changesOf, type Sync } from "./reading.ts";

const HASH_LENGTH = 64;
/** Each tenant is one step in the index, however many rows it has. */
const TENANTS = `WITH RECURSIVE found (tenant_id) AS (
    SELECT min(tenant_id) FROM audit
    UNION ALL SELECT (SELECT min(tenant_id) FROM audit WHERE tenant_id > found.tenant_id) FROM found
      WHERE tenant_id IS NOT NULL)
  SELECT tenant_id, hex(tenant_id) AS bytes, typeof(tenant_id) AS kind
    FROM (SELECT tenant_id FROM found WHERE tenant_id IS NOT NULL UNION SELECT tenant_id FROM audit_heads)
    ORDER BY tenant_id`;
/** Rows that no writer makes: a strand or sequence that is none, another number of lines than of units, units of an earlier row. */
const STRAYS = `SELECT position FROM audit AS row WHERE typeof(strand) <> 'integer' OR typeof(lines) <> 'text'
    OR typeof(first_sequence) <> 'integer' OR typeof(last_sequence) <> 'integer'
    OR last_sequence - first_sequence <> octet_length(lines) - octet_length(replace(lines, char(10), ''))
    OR EXISTS (SELECT 1 FROM audit AS other WHERE other.tenant_id = row.tenant_id AND other.strand = row.strand
      AND other.last_sequence >= row.first_sequence AND other.last_sequence < row.last_sequence)
  ORDER BY position LIMIT 10`;

/** Reads the audit chains. A row holds the units that one commit added to a strand; here they become single entries again. */
export function auditReads(database: DatabaseSync): Sync<AuditReader> {
  const tenants = database.prepare(TENANTS);
  const strands = database.prepare(
    `SELECT strand FROM audit_heads WHERE tenant_id = ?1 AND typeof(strand) = 'integer'
      UNION SELECT strand FROM audit WHERE tenant_id = ?1 AND typeof(strand) = 'integer' ORDER BY strand`,
  );
  const strays = database.prepare(STRAYS);
  const isText = ({ tenant_id, bytes, kind }: Row) =>
    kind === "text" && Buffer.from(String(tenant_id)).toString("hex").toUpperCase() === bytes;
  const heads = database.prepare(
    "SELECT strand, sequence, hash FROM audit_heads WHERE tenant_id = ? ORDER BY strand",
  );
  const runs = database.prepare(`SELECT last_sequence, lines FROM audit
    WHERE tenant_id = ? AND strand = ? AND last_sequence > ? ORDER BY last_sequence LIMIT ?`);
  return {
    tenants: () =>
      tenants
        .all()
        .filter(isText)
        .map((row) => String(row.tenant_id)),
    strands: (tenant) => strands.all(tenant).map(({ strand }) => Number(strand)),
    strays: () => [
      ...tenants
        .all()
        .filter((row) => !isText(row))
        .map(({ bytes }) => strayTenant(String(bytes))),
      ...strays
        .all()
        .map(({ position }) => `Row ${position} of the audit record holds other units than it says`),
    ],
    heads: (tenant) => heads.all(tenant).map(linkOf),
    read: (tenant, { strand, after, limit }) => {
      const entries: AuditEntry[] = [];
      let readUpTo = after;
      for (const row of runs.iterate(tenant, strand, after, Math.max(0, limit))) {
        const last = Number(row.last_sequence);
        // A unit comes from the first row that reaches it, wherever the page starts. Otherwise a forged row that
        // overlaps another could be shown by one page size and be skipped by the one that verification uses.
        const run = expand({ strand, last }, String(row.lines));
        entries.push(...run.filter(({ sequence }) => sequence > readUpTo));
        readUpTo = last;
        if (entries.length >= limit) break;
      }
      return entries.slice(0, limit);
    },
  };
}

/** Numbered from the end: `last_sequence` is what rows are found by. */
function expand({ strand, last }: { strand: number; last: number }, joined: string): AuditEntry[] {
  const lines = joined.split("\n");
  return lines.map((line, index) => ({
    strand,
    sequence: last - lines.length + 1 + index,
    hash: line.slice(0, HASH_LENGTH),
    body: line.slice(HASH_LENGTH + 1),
  }));
}

const SCOPE_ID = "(SELECT scope_id FROM state_scopes WHERE tenant_id = ?1 AND tool_id = ?2)";

/** Reads transactional state at a version. A scope nobody wrote to is at version 0. */
export function stateReads(database: DatabaseSync): Sync<StateReader> {
  const found = database.prepare(
    "SELECT version, floor FROM state_scopes WHERE tenant_id = ? AND tool_id = ?",
  );
  const newest = database.prepare(`SELECT version, value FROM state
    WHERE scope_id = ${SCOPE_ID} AND key = ?3 AND version <= ?4 ORDER BY version DESC LIMIT 1`);
  const keys = database.prepare(`SELECT key FROM state AS seen
    WHERE scope_id = ${SCOPE_ID} AND key >= ?3 AND (?4 IS NULL OR key < ?4) AND value IS NOT NULL
      AND version = (SELECT max(version) FROM state
        WHERE scope_id = seen.scope_id AND key = seen.key AND version <= ?5)
    ORDER BY key LIMIT ?6`);
  const written = database.prepare(
    `SELECT count(*) AS entries FROM state WHERE call_id = ?3 AND scope_id = ${SCOPE_ID}`,
  );
  const scopeRow = ({ tenant, tool }: StateScope) => found.get(tenant, tool);
  /** To be called after reading: the writer may have swept in between, and what was read is wrong then. */
  const requireKept = ({ scope, version }: StateSnapshot) => {
    if (version < Number(scopeRow(scope)?.floor ?? 0)) throw snapshotGone(scope);
  };
  return {
    open: (scope) => ({ scope: { ...scope }, version: Number(scopeRow(scope)?.version ?? 0) }),
    get: (snapshot, key) => {
      const { scope, version } = snapshot;
      const row = newest.get(scope.tenant, scope.tool, key, version);
      requireKept(snapshot);
      if (typeof row?.value !== "string") return undefined;
      return { value: JSON.parse(row.value), version: Number(row.version) };
    },
    keys: (snapshot, { prefix, limit }) => {
      const { scope, version } = snapshot;
      const end = endOfPrefix(prefix) ?? null;
      const rows = keys.all(scope.tenant, scope.tool, prefix, end, version, Math.max(0, limit));
      requireKept(snapshot);
      return rows.map((row) => String(row.key));
    },
    writtenBy: ({ tenant, tool }, callId) => Number(written.get(tenant, tool, callId)?.entries ?? 0),
  };
}

/** The first text in code point order that no longer starts with the prefix; undefined when there is none. */
function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

/** Reads tool versions in the order they were registered. */
export function toolReads(database: DatabaseSync): Sync<ToolReader> {
  const changed = database.prepare(`SELECT manifest, manifest_hash, retirement, module,
    created_at AS registered_at, quarantine, revision, change FROM tool_versions WHERE change > ? ORDER BY position`);
  return { changedSince: (cursor) => changesOf(changed, cursor, toolOf) };
}

const LIVE_RECORDS = `SELECT kind, id, body, revision, expires_at FROM records
  WHERE kind = ? AND (expires_at IS NULL OR expires_at > ?)`;

/** Reads records that have not expired. */
export function recordReads(database: DatabaseSync, now: () => number): Sync<RecordReader> {
  const one = database.prepare(`${LIVE_RECORDS} AND id = ?`);
  const list = database.prepare(`${LIVE_RECORDS} AND id > ? ORDER BY id LIMIT ?`);
  const first = database.prepare(`${LIVE_RECORDS} ORDER BY id LIMIT ?`);
  return {
    get: (kind, id) => one.all(kind, now(), id).map(storedRecord)[0],
    list: (kind, { after, limit }) => {
      const most = Math.max(0, limit);
      const rows = after === undefined ? first.all(kind, now(), most) : list.all(kind, now(), after, most);
      return rows.map(storedRecord);
    },
  };
}

/** Reads the instances that have a lease. */
export function instanceReads(database: DatabaseSync): () => InstanceRecord[] {
  const live = database.prepare(
    "SELECT instance_id AS instance, * FROM instances WHERE expires_at > ? ORDER BY slot",
  );
  return () => live.all(Date.now()).map(instanceOf);
}
