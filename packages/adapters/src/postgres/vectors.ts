import type { Database } from "./database.ts";
import { reasonOf } from "./driver.ts";

/** The size of the embeddings that the seed names. */
const DIMENSIONS = 768;

/**
 * The table of embeddings, where the extension `vector` is there or can be created; it is tried at every start. Resolves
 * with words when it is not: everything else works without.
 */
export async function ensureVectors(database: Database, schema: string): Promise<string | undefined> {
  const client = await database.connect();
  let problem: Error | undefined;
  try {
    const { rows: made } = await client.query("SELECT to_regclass($1) AS embeddings", [
      `"${schema}".tool_embeddings`,
    ]);
    if (made[0]?.embeddings) return undefined;
    await client.query("BEGIN");
    await client.query("SELECT pg_advisory_xact_lock(hashtext('sallyport-vectors'))");
    // Another process may have made it while this one waited.
    const { rows: now } = await client.query("SELECT to_regclass('tool_embeddings') AS embeddings");
    if (now[0]?.embeddings) return void (await client.query("COMMIT"));
    await client.query("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public");
    const { rows } = await client.query<{ home: string }>(
      `SELECT quote_ident(nspname) AS home FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
        WHERE extname = 'vector'`,
    );
    await client.query(embeddings(rows[0]?.home ?? "public"));
    await client.query("COMMIT");
    return undefined;
  } catch (error) {
    problem = error instanceof Error ? error : new Error(String(error));
    return `Tool embeddings are not kept in PostgreSQL, because the extension vector cannot be used: ${reasonOf(error)}`;
  } finally {
    client.release(problem);
  }
}

function embeddings(home: string): string {
  return `
    CREATE TABLE tool_embeddings (
      tool_id text COLLATE "C" PRIMARY KEY,
      provider text NOT NULL,
      description_embedding ${home}.vector(${DIMENSIONS}) NOT NULL
    );
    CREATE INDEX idx_tool_description_embedding ON tool_embeddings
      USING hnsw (description_embedding ${home}.vector_cosine_ops);
    DO $$ BEGIN
      EXECUTE format('CREATE OR REPLACE VIEW tool_definitions AS SELECT kept.*, e.description_embedding FROM (%s) AS kept
        LEFT JOIN tool_embeddings AS e ON e.tool_id = kept.tool_id', rtrim(pg_get_viewdef('tool_definitions'), ';'));
    END $$`;
}
