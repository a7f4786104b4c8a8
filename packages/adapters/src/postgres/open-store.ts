import {
  type AuditArchiver,
  type CommitResult,
  REMEMBERED_UNITS,
  STATE_RETENTION_MS,
  type Store,
  type UnitOfWork,
} from "@sallyport/engine/ports";
import type { OutlineReader } from "../store-rows/outlines.ts";
import { auditArchiver } from "./archive.ts";
import { callReader, queueReader } from "./calls.ts";
import { Committer, resultOf } from "./committer.ts";
import { Database } from "./database.ts";
import { auditReader, callbackReader, recordReader, stateReader, toolReader } from "./documents.ts";
import { encodeUnit } from "./encode-unit.ts";
import { lost } from "./failures.ts";
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
  /** Connections at most, of which one writes. Default: 10. */
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
    patienceMs = 4_000,
    stateRetentionMs = STATE_RETENTION_MS,
  } = options;
  if (!NAME.test(schema))
    throw lost(`The schema name ${schema} is not made of small letters, digits and underscores.`);
  const database = await Database.create({
    connectionString,
    schema,
    poolSize: Math.max(2, options.poolSize ?? 10),
    statementTimeoutMs: options.statementTimeoutMs ?? 15_000,
    lockTimeoutMs: options.lockTimeoutMs ?? 5_000,
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
    patienceMs,
  });
  try {
    await database.reach();
    await migrate(database, { schema });
    // After a long pause, or from an old backup, there is none for this month.
    await database.rows("SELECT make_audit_partitions()");
    const notice = await ensureVectors(database, schema);
    if (notice !== undefined) options.onNotice?.(notice);
  } catch (error) {
    await database.close(async () => undefined);
    throw error;
  }
  return new PostgresStore(database, { patienceMs, stateRetentionMs });
}

/** `open` until `close` is called; from then on everything rejects with E3914, and what was under way is finished. */
class PostgresStore implements Store, AuditArchiver {
  readonly isShared = true;
  readonly #database: Database;
  readonly #committer: Committer;
  readonly #stateRetentionMs: number;
  readonly #tidying: NodeJS.Timeout;

  readonly calls: Store["calls"] & OutlineReader;
  readonly queue: Store["queue"];
  readonly state: Store["state"];
  readonly audit: Store["audit"];
  readonly outbox: Store["outbox"];
  readonly tools: Store["tools"];
  readonly approvals: Store["approvals"];
  readonly grants: Store["grants"];
  readonly revocations: Store["revocations"];
  readonly callbacks: Store["callbacks"];
  readonly records: Store["records"];
  readonly instances: Store["instances"];
  readonly work: Store["work"];
  readonly archiveAudit: AuditArchiver["archiveAudit"];

  constructor(
    database: Database,
    { patienceMs, stateRetentionMs }: { patienceMs: number; stateRetentionMs: number },
  ) {
    this.#database = database;
    this.#committer = new Committer(database, patienceMs);
    this.#stateRetentionMs = stateRetentionMs;
    this.calls = whileOpen(database, callReader(database));
    this.queue = whileOpen(database, queueReader(database));
    this.state = whileOpen(database, stateReader(database));
    this.audit = whileOpen(database, auditReader(database));
    this.outbox = whileOpen(database, outboxReader(database));
    this.tools = whileOpen(database, toolReader(database));
    this.approvals = whileOpen(database, approvalReader(database));
    this.grants = whileOpen(database, grantReader(database));
    this.revocations = whileOpen(database, revocationReader(database));
    this.callbacks = whileOpen(database, callbackReader(database));
    this.records = whileOpen(database, recordReader(database));
    this.instances = whileOpen(database, instancesOf(database));
    this.work = whileOpen(database, workClaims(database));
    this.archiveAudit = whileOpen(database, auditArchiver(database)).archiveAudit;
    // What could not be tidied now is tidied later, by whichever process comes first.
    this.#tidying = setInterval(() => void this.#tidy().catch(() => undefined), TIDY_MS).unref();
  }

  async commit(unit: UnitOfWork): Promise<CommitResult> {
    this.#database.requireOpen();
    const result = resultOf(await this.#committer.submit(encodeUnit(unit, this.#stateRetentionMs)));
    if ("ok" in result) return result;
    const existing = await this.calls.get(result.holder);
    if (existing) return { ok: false, conflict: { kind: "idempotency", existing } };
    throw lost(`The call ${result.holder} that holds the idempotency key cannot be read.`);
  }

  async probe(): Promise<void> {
    this.#database.requireOpen();
    await this.#database.rows("UPDATE probe SET at = clock_timestamp()");
  }

  close(): Promise<void> {
    clearInterval(this.#tidying);
    return this.#database.close(() => this.#committer.drain());
  }

  async #tidy(): Promise<void> {
    await this.#database.rows("SELECT tidy($1, $2, $3)", [this.#stateRetentionMs, REMEMBERED_UNITS, HOUR_MS]);
  }
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
