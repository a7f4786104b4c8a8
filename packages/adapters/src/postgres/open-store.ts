import {
  type AuditArchiver,
  REMEMBERED_UNITS,
  STATE_RETENTION_MS,
  type Store,
} from "@sallyport/engine/ports";
import { auditArchiver } from "./archive.ts";
import { callReader, queueReader } from "./calls.ts";
import { Committer, resultOf } from "./committer.ts";
import { Database, LEAST_CONNECTIONS } from "./database.ts";
import { auditReader, callbackReader, recordReader, stateReader, toolReader } from "./documents.ts";
import { encodeUnit } from "./encode-unit.ts";
import { isLockTimeout, isMadeMeanwhile, lost } from "./failures.ts";
import { instancesOf, workClaims } from "./fleet.ts";
import { migrate } from "./migrations.ts";
import { outboxReader } from "./outbox.ts";
import { approvalReader, grantReader, revocationReader } from "./permits.ts";
import { ensureVectors } from "./vectors.ts";

export interface PostgresStoreOptions {
  /** `postgres://…`; its password is never told. */
  connectionString: string;
  /** The schema that holds everything, created when it is not there. Default: `sallyport`. */
  schema?: string;
  /** Connections at most, 4 at least: one is for leases, one writes, the others read. Default: 10. */
  poolSize?: number;
  /** A statement that takes longer is undone. Default: 15 s. */
  statementTimeoutMs?: number;
  /** A statement that waits longer for a row is undone. Default: 5 s. */
  lockTimeoutMs?: number;
  /** How long to wait for a connection. Default: 5 s. */
  connectTimeoutMs?: number;
  /** How long a statement is sent again while the server cannot be reached. Default: 4 s. */
  patienceMs?: number;
  /** How long a state snapshot sees what has been replaced since; the longest call and an hour. Default: 25 h. */
  stateRetentionMs?: number;
  /** Told in words what is missing and not needed: the extension for embeddings. */
  onNotice?: (words: string) => void;
}

const HOUR_MS = 3_600_000;
const TIDY_MS = 60_000;
const NAME = /^[a-z_][a-z0-9_]{0,47}$/;

/**
 * Opens the store in a schema of a PostgreSQL database, and creates or migrates the schema where need be. Any number of
 * processes may use it at the same time. Rejects with E3914 and advice when it cannot be used; nothing is left open then.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store & AuditArchiver> {
  const {
    connectionString,
    schema = "sallyport",
    poolSize = 10,
    patienceMs = 4_000,
    stateRetentionMs = STATE_RETENTION_MS,
  } = options;
  if (!NAME.test(schema))
    throw lost(`The schema name ${schema} is not made of small letters, digits and underscores.`);
  if (!(poolSize >= LEAST_CONNECTIONS))
    throw lost(`poolSize is ${poolSize}, and a process needs ${LEAST_CONNECTIONS} connections at least.`);
  const database = await Database.create({
    connectionString,
    schema,
    poolSize,
    statementTimeoutMs: options.statementTimeoutMs ?? 15_000,
    lockTimeoutMs: options.lockTimeoutMs ?? 5_000,
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
    patienceMs,
  });
  try {
    await database.reach();
    await migrate(database, { schema });
    // After a long pause, or from an old backup, there is none for this month.
    await makePartitions(database);
    const notice = await ensureVectors(database, schema);
    if (notice !== undefined) options.onNotice?.(notice);
  } catch (error) {
    await database.close(async () => undefined);
    throw error;
  }
  return postgresStore(database, { patienceMs, stateRetentionMs });
}

/**
 * Makes the partitions that this month and the next two lack. While somebody reads the table that takes the rows
 * meanwhile, none can be attached: that stops nobody, and the next turn tries again.
 */
async function makePartitions(database: Database): Promise<void> {
  try {
    for (const { month } of await database.rows("SELECT month FROM missing_audit_months() AS month"))
      await database.rows("SELECT make_audit_partition($1)", [String(month)]);
  } catch (error) {
    if (!canWait(error)) throw error;
  }
}

/** Another process makes the partition at this moment, or somebody reads. */
function canWait(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return isLockTimeout(cause) || isMadeMeanwhile(cause);
}

/** `open` until `close` is called; from then on everything rejects with E3914, and what was under way is finished. */
function postgresStore(
  database: Database,
  { patienceMs, stateRetentionMs }: { patienceMs: number; stateRetentionMs: number },
): Store & AuditArchiver {
  const committer = new Committer(database, patienceMs);
  const calls = whileOpen(database, callReader(database));
  const tidy = () => database.rows("SELECT tidy($1, $2, $3)", [stateRetentionMs, REMEMBERED_UNITS, HOUR_MS]);
  // What could not be tidied now is tidied later, by whichever process comes first.
  const upkeep = () => makePartitions(database).then(tidy);
  const tidying = setInterval(() => void upkeep().catch(() => undefined), TIDY_MS).unref();
  return {
    isShared: true,
    calls,
    queue: whileOpen(database, queueReader(database)),
    state: whileOpen(database, stateReader(database)),
    audit: whileOpen(database, auditReader(database)),
    outbox: whileOpen(database, outboxReader(database)),
    tools: whileOpen(database, toolReader(database)),
    approvals: whileOpen(database, approvalReader(database)),
    grants: whileOpen(database, grantReader(database)),
    revocations: whileOpen(database, revocationReader(database)),
    callbacks: whileOpen(database, callbackReader(database)),
    records: whileOpen(database, recordReader(database)),
    instances: whileOpen(database, instancesOf(database)),
    work: whileOpen(database, workClaims(database)),
    ...whileOpen(database, auditArchiver(database)),
    async commit(unit) {
      database.requireOpen();
      const result = resultOf(await committer.submit(encodeUnit(unit, stateRetentionMs)));
      if ("ok" in result) return result;
      const existing = await calls.get(result.holder);
      if (existing) return { ok: false, conflict: { kind: "idempotency", existing } };
      throw lost(`The call ${result.holder} that holds the idempotency key cannot be read.`);
    },
    async probe() {
      database.requireOpen();
      await database.rows("UPDATE probe SET at = clock_timestamp()");
    },
    close() {
      clearInterval(tidying);
      return database.close(() => committer.drain());
    },
  };
}

/** The same methods, which reject once the store has been closed. */
function whileOpen<Port extends object>(database: Database, port: Port): Port {
  const methods = Object.entries(port).map(([name, method]: [string, (...args: unknown[]) => unknown]) => [
    name,
    async (...args: unknown[]) => {
      database.requireOpen();
      return await method(...args);
    },
  ]);
  return Object.fromEntries(methods);
}
