import type { Database } from "./database.ts";
import type { PoolClient } from "./driver.ts";
import { failedBy, lost } from "./failures.ts";
import { ARCHIVE } from "./schema/archive.ts";
import { CALLS } from "./schema/calls.ts";
import { COMMIT } from "./schema/commit.ts";
import { DOCUMENTS } from "./schema/documents.ts";
import { FLEET } from "./schema/fleet.ts";
import { PERMITS } from "./schema/permits.ts";
import { UPKEEP } from "./schema/upkeep.ts";
import { VIEWS } from "./schema/views.ts";

/** One step of the schema. */
export interface Migration {
  sql: string;
  /** The oldest program, by the newest version it knows, that still works on the schema after this step. */
  oldestProgram: number;
}

/** Migration n takes a schema of version n - 1 to n. Never edit one that has been released; add the next. */
const MIGRATIONS: readonly Migration[] = [
  {
    sql: [FLEET, CALLS, PERMITS, DOCUMENTS, COMMIT, UPKEEP, VIEWS, "SELECT make_audit_partitions()"].join(
      "\n",
    ),
    oldestProgram: 1,
  },
  { sql: ARCHIVE, oldestProgram: 2 },
];

export interface MigrationOptions {
  schema: string;
  migrations?: readonly Migration[];
}

interface Found {
  version: number;
  oldestProgram: number;
}

/**
 * Brings a schema up to this program's version: all missing steps in one transaction, under a lock that one process at a
 * time has. A newer schema is used as it is where its last step says that this program may; otherwise E3914.
 */
export async function migrate(database: Database, options: MigrationOptions): Promise<void> {
  const { schema, migrations = MIGRATIONS } = options;
  const client = await database.connect();
  let problem: Error | undefined;
  try {
    const found = await versionOf(client, schema);
    if (found.version >= migrations.length) return requireKnown(found, migrations.length);
    await client.query("BEGIN");
    // A step takes as long as it takes, and so does waiting for another process that is at it.
    await client.query("SET LOCAL lock_timeout TO 0; SET LOCAL statement_timeout TO 0");
    await client.query(
      unbounded("SELECT pg_advisory_xact_lock(hashtext('sallyport-migrate'), hashtext($1))", [schema]),
    );
    await stepsFrom(client, { schema, migrations });
    await client.query("COMMIT");
  } catch (error) {
    problem = error instanceof Error ? error : new Error(String(error));
    throw failedBy(error, `The schema ${schema} could not be brought up to date`);
  } finally {
    // A connection with a broken transaction is not given back.
    client.release(problem);
  }
}

async function stepsFrom(
  client: PoolClient,
  { schema, migrations }: Required<MigrationOptions>,
): Promise<void> {
  // Another process may have done all of it while this one waited.
  const found = await versionOf(client, schema);
  if (found.version === 0) {
    const { rowCount } = await client.query("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
    if (rowCount === 0) await client.query(`CREATE SCHEMA "${schema}"`);
    await client.query(`CREATE TABLE IF NOT EXISTS schema_versions (
      version integer PRIMARY KEY, oldest_program integer NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  }
  for (let version = found.version + 1; version <= migrations.length; version += 1) {
    const { sql, oldestProgram } = migrations[version - 1] ?? { sql: "", oldestProgram: version };
    await client.query(unbounded(sql));
    await client.query("INSERT INTO schema_versions VALUES ($1, $2)", [version, oldestProgram]);
  }
}

/** The longest that a timer of Node can wait: the driver's own time limit, too, is not for migrations. */
const UNBOUNDED_MS = 2 ** 31 - 1;

function unbounded(text: string, values: string[] = []) {
  return { text, query_timeout: UNBOUNDED_MS, ...(values.length > 0 && { values }) };
}

async function versionOf(client: PoolClient, schema: string): Promise<Found> {
  // Not by to_regclass: a session remembers that a name is not there, and waiting for an advisory lock does not remind it.
  const { rowCount } = await client.query(
    "SELECT FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = $1 AND relname = 'schema_versions'",
    [schema],
  );
  if (rowCount === 0) return { version: 0, oldestProgram: 0 };
  const { rows } = await client.query<{ version: number; oldest: number }>(
    "SELECT version, oldest_program AS oldest FROM schema_versions ORDER BY version DESC LIMIT 1",
  );
  return { version: rows[0]?.version ?? 0, oldestProgram: rows[0]?.oldest ?? 0 };
}

function requireKnown({ version, oldestProgram }: Found, known: number): void {
  if (known >= oldestProgram) return;
  throw lost(
    `The schema is of version ${version}; this Sallyport knows versions up to ${known}, and this one needs ${oldestProgram}.`,
    "Run the newer Sallyport that brought the schema up to date, or restore a backup from before the upgrade.",
  );
}
