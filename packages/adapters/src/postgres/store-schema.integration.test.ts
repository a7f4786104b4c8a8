import { DatabaseSync } from "node:sqlite";
import type { CallRecord } from "@sallyport/engine/ports";
import {
  applied,
  crowd,
  ODD_TEXT,
  opening,
  sampleCall,
  sampleIntent,
  sampleTool,
  unitOf,
} from "@sallyport/engine/testing";
import { SallyportError } from "@sallyport/protocol";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { reasonToSkip } from "../../../../scripts/services.ts";
import { migrate as migrateSqlite } from "../sqlite/migrations.ts";
import { Database } from "./database.ts";
import { TestServer } from "./fixtures/server.ts";
import { heldText } from "./fleet.ts";
import { migrate } from "./migrations.ts";

const reason = reasonToSkip("postgres");
/** The service postgres17 has no vectors; 15, 16 and 18 have them. */
const isVectorless = process.env.SALLYPORT_POSTGRES_MAJOR === "17";

/** The columns of seed 004 §5.1. */
const SEED = {
  tool_definitions: `tool_id tool_name description category tags latest_version source_type source_metadata
    deprecation_state deprecation_date created_at updated_at requires_approval default_timeout_seconds
    default_cpu_millicore_limit default_memory_mb_limit required_permissions result_schema retry_policy
    circuit_breaker_config description_embedding`,
  tool_versions: `version_id tool_id version manifest compatibility_range release_notes deprecated_in_favor_of
    created_at removed_at`,
  tool_invocations: `invocation_id tool_id tool_version agent_did tenant_id session_id parameters result status
    error_code error_message started_at completed_at duration_ms cpu_used_millicore_seconds memory_peak_mb
    network_bytes_sent network_bytes_received documents_accessed checkpoints_created checkpoint_ref created_at`,
  tool_checkpoints: `checkpoint_id invocation_id checkpoint_type checkpoint_label parent_checkpoint_id is_delta state
    state_compressed state_size_bytes progress_percent current_phase document_versions created_at expires_at
    archived_at`,
};

const INDEXES = `idx_invocation_agent idx_invocation_tenant idx_invocation_tool idx_invocation_status
  idx_invocation_started_at idx_checkpoint_invocation idx_checkpoint_type idx_checkpoint_expires_at
  idx_tool_version_version idx_tool_description_embedding`;

describe.skipIf(reason !== undefined)(`The schema in PostgreSQL${reason ? ` (${reason})` : ""}`, () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("is made once, however many processes start at the same time, and found by the next", async () => {
    const stores = await Promise.all(crowd(6, () => server.open("fresh")));
    await applied(stores[0] ?? (await server.open("fresh")), opening(sampleCall()));
    for (const store of [...stores, await server.open("fresh")])
      expect(await store.calls.list({ limit: 9 })).toHaveLength(1);
    expect(await server.query("SELECT version FROM fresh.schema_versions")).toEqual([
      { version: 1 },
      { version: 2 },
    ]);
  });

  it("finds what an instance executes by the index of open calls, however many are named [X-21]", async () => {
    await server.open("plans");
    const client = new pg.Client({ connectionString: server.url() });
    await client.connect();
    onTestFinished(() => client.end());
    const ask = async (text: string) => (await client.query<Record<string, string>>(text)).rows;
    const some = (phase: string, most: number) =>
      ask(`INSERT INTO calls (call_id, tool_id, tool_version, operation, manifest_hash, side_effects, parameters, input_hash,
          agent_did, tenant_id, owner, attempt, started_at, phase)
        SELECT md5('${phase}' || n), 't', '1', 'run', 'm', 'external', '{}', 'i', 'a', 't', 'me', 1, n, '${phase}'
        FROM generate_series(1, ${most}) AS n`);
    await ask("SET search_path TO plans");
    await some("closed", 20_000);
    await ask("ANALYZE calls");
    await some("executing", 2_000);
    const named = (await ask("SELECT call_id FROM calls WHERE phase = 'executing'")).map(
      (row) => row.call_id,
    );
    await ask(`PREPARE held (text, text[], integer) AS ${heldText("executing")}`);
    for (const statistics of ["of before", "of now"]) {
      if (statistics === "of now") await ask("ANALYZE calls");
      for (const mode of ["force_custom_plan", "force_generic_plan"]) {
        await ask(`SET plan_cache_mode TO ${mode}`);
        const plan = JSON.stringify(await ask(`EXPLAIN EXECUTE held ('me', '{${named}}', 100)`));
        expect([mode, plan.match(/calls_\w+/g), plan], statistics).toEqual([
          mode,
          ["calls_open"],
          expect.stringContaining("hashed SubPlan"),
        ]);
      }
    }
  });

  const sameTables = isVectorless ? ["tool_checkpoints"] : ["tool_checkpoints", "tool_embeddings"];
  it.each(sameTables)("has the columns of %s that SQLite has", async (table) => {
    await server.open("seed");
    const rows = await server.query(
      `SELECT column_name FROM information_schema.columns WHERE table_schema = 'seed' AND table_name = '${table}'`,
    );
    const database = new DatabaseSync(":memory:");
    migrateSqlite(database);
    const columns = database.prepare("SELECT name FROM pragma_table_info(?)").all(table);
    database.close();
    expect(columns.map(({ name }) => name).toSorted()).toEqual(
      rows.map(({ column_name }) => column_name).toSorted(),
    );
  });

  it("of a newer program is used where that says it may be, and refused with words where not", async () => {
    await server.open("newer");
    await server.query("INSERT INTO newer.schema_versions VALUES (3, 1)");
    const store = await server.open("newer");
    await applied(store, opening(sampleCall()));
    await server.query("INSERT INTO newer.schema_versions VALUES (4, 4)");
    const refused = await server.open("newer").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(SallyportError);
    expect(String(refused)).toContain("version 4; this Sallyport knows versions up to 2");
  });

  const named =
    "has the tables, columns and indexes that the seed names, for people who query them [L3-DAT-1]";
  it.skipIf(isVectorless)(named, async () => {
    const store = await server.open("seed");
    const call = sampleCall({ session: ODD_TEXT, input: JSON.stringify({ odd: ODD_TEXT }) });
    await applied(store, unitOf({ ...opening(call), tools: [{ record: sampleTool("calc", "1.0.0") }] }));
    for (const [table, columns] of Object.entries(SEED)) {
      const found = await server.query(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'seed' AND table_name = $1",
        [table],
      );
      const names = found.map(({ column_name }) => String(column_name));
      expect(names, table).toEqual(expect.arrayContaining(columns.split(/\s+/)));
      await server.query(`SELECT * FROM seed.${table}`);
    }
    const indexes = await server.query("SELECT indexname FROM pg_indexes WHERE schemaname = 'seed'");
    expect(indexes.map(({ indexname }) => indexname)).toEqual(expect.arrayContaining(INDEXES.split(/\s+/)));
    const [row] = await server.query("SELECT status, result, tool_id FROM seed.tool_invocations");
    expect(row).toEqual({ status: "success", result: { sum: 2 }, tool_id: "calc" });
  });

  it("works without the extension for vectors, and says so", async () => {
    // Without the right to create in the database, the extension cannot be created, and the schema has to be there.
    await server.query("CREATE DATABASE bare");
    await server.query("CREATE ROLE plain LOGIN");
    await server.query("CREATE SCHEMA plain AUTHORIZATION plain", [], "bare");
    const notices: string[] = [];
    const onNotice = (words: string) => void notices.push(words);
    const connectionString = server.url("plain", "bare");
    const store = await server.open("plain", { connectionString, onNotice });
    await applied(store, opening(sampleCall()));
    expect(notices).toEqual([expect.stringContaining("the extension vector cannot be used")]);
  });

  it("waits for a migration of another process, and takes as long as a migration takes", async () => {
    const limits = { statementTimeoutMs: 100, lockTimeoutMs: 100 };
    const made = { schema: "slow", migrations: [{ sql: "SELECT pg_sleep(7)", oldestProgram: 1 }] };
    const connection = { connectionString: server.url(), schema: "slow", poolSize: 4 };
    const times = { connectTimeoutMs: 5_000, patienceMs: 0 };
    const databases = await Promise.all(
      crowd(2, () => Database.create({ ...connection, ...limits, ...times })),
    );
    await Promise.all(databases.map((database) => migrate(database, made)));
    expect(await server.query("SELECT version FROM slow.schema_versions")).toEqual([{ version: 1 }]);
    await Promise.all(databases.map((database) => database.close(async () => undefined)));
  });

  it("may have the name of a word of SQL", async () => {
    for (const schema of ["user", "default"]) {
      const store = await server.open(schema);
      await applied(store, opening(sampleCall()));
      expect(await server.query(`SELECT FROM "${schema}".calls`)).toHaveLength(1);
    }
  });

  it("finds the calls of a batch by their keys, however many were closed since the last vacuum", async () => {
    const store = await server.open("keyed");
    const calls = crowd(300, () => sampleIntent({ runId: "first" }));
    await Promise.all(calls.map((call) => applied(store, opening(call))));
    const closing = ({ callId }: CallRecord) =>
      applied(store, unitOf({ fence: { callId, runId: "first" }, close: { callId, phase: "closed" } }));
    for (let at = 0; at < calls.length; at += 50) await Promise.all(calls.slice(at, at + 50).map(closing));
    // What a connection has counted is told at its end.
    await store.close();
    const [scans] = await server.query(
      `SELECT seq_tup_read AS rows, i.idx_scan AS open FROM pg_stat_user_tables AS t JOIN pg_stat_user_indexes AS i
        USING (schemaname, relname) WHERE schemaname = 'keyed' AND indexrelname = 'calls_open'`,
    );
    expect(scans).toEqual({ rows: "0", open: "0" });
  });

  it("says what waits for each sink without reading what waits", async () => {
    const store = await server.open("backlog");
    const waiting = { many: 40_000, some: 300, other: 5 };
    // As commits leave them: sinks mixed, tenants in every partition, something of it delivered.
    await server.query(`INSERT INTO backlog.outbox (sink, partition, tenant_id, events)
      SELECT sink, (n * 7) % 16, 't', repeat('x', 200) FROM generate_series(1, 40000) AS n, LATERAL (
        SELECT unnest(CASE WHEN n <= 5 THEN '{many,some,other}' WHEN n <= 300 THEN '{many,some}' ELSE '{many}' END::text[])
          AS sink) AS due`);
    const backlogs = await store.outbox.backlogs();
    expect(backlogs).toMatchObject([
      { sink: "many", isEstimate: true },
      { sink: "other", batches: waiting.other },
      { sink: "some", batches: waiting.some },
    ]);
    expect(backlogs[0]?.batches).toBeGreaterThan(waiting.many * 0.8);
    expect(backlogs[0]?.batches).toBeLessThan(waiting.many * 1.2);
    // What a connection has counted is told at its end.
    await store.close();
    const [read] = await server.query(
      `SELECT seq_tup_read::integer AS scanned, idx_tup_fetch::integer AS fetched FROM pg_stat_user_tables
        WHERE schemaname = 'backlog' AND relname = 'outbox'`,
    );
    expect(read).toMatchObject({ scanned: 0 });
    expect(read?.fetched).toBeLessThan(3 * 16 * 250 + 1_000);
  });

  it("is tidied without losing what is still needed", async () => {
    const store = await server.open("tidy");
    const scope = { tenant: "acme", tool: "calc" };
    const unit = unitOf({ id: "u" });
    await applied(store, unit);
    for (const value of [1, 2]) {
      const { version } = await store.state.open(scope);
      const state = { scope, callId: "c", snapshotVersion: version, writes: [{ key: "k", value }] };
      await applied(
        store,
        unitOf({ state, records: [{ kind: "r", id: `${value}`, body: "", expiresAt: value }] }),
      );
    }
    const rows = async (table: string) =>
      Number((await server.query(`SELECT count(*) FROM tidy.${table}`))[0]?.count);
    await server.query("SET search_path TO tidy; SELECT tidy(3600000, 100, 3600000)");
    expect([await rows("state"), await rows("records"), await rows("applied_units")]).toEqual([2, 0, 1]);
    await server.query("SET search_path TO tidy; SELECT tidy(-1, 0, -1)");
    expect([await rows("state"), await rows("applied_units")]).toEqual([1, 0]);
    expect(await store.state.get(await store.state.open(scope), "k")).toMatchObject({ value: 2 });
  });
});
