import { applied, opening, sampleCall } from "@sallyport/engine/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reasonToSkip } from "../../../../scripts/services.ts";
import { TestServer } from "./fixtures/server.ts";

const reason = reasonToSkip("postgres");
/** Far beyond every lock that is waited for: it says that something hangs. */
const HANGS = { timeout: 120_000 };

describe.skipIf(reason !== undefined)(`Partitions of the audit record${reason ? ` (${reason})` : ""}`, () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  const connect = (schema: string) => server.client(`SET search_path TO ${schema}`);

  const months = async (schema: string) => {
    const rows = await server.query(
      "SELECT relname AS name FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = $1::regclass",
      [`${schema}.audit`],
    );
    return rows.map(({ name }) => String(name)).filter((name) => name !== "audit_other");
  };
  const dropMonths = async (schema: string) => {
    const names = (await months(schema)).map((name) => `${schema}.${name}`);
    await server.query(`DROP TABLE ${names.join()}`);
  };
  const inOther = async (schema: string) =>
    (await server.query(`SELECT FROM ONLY ${schema}.audit_other`)).length;
  it("are one for each month, and two months ahead [L3-AUD-1]", async () => {
    const store = await server.open("months");
    await applied(store, opening(sampleCall()));
    const month = new Date().toISOString().slice(0, 7).replace("-", "_");
    expect(await server.query(`SELECT strand, sequence FROM months.audit_${month}`)).toHaveLength(1);
    expect(await months("months")).toHaveLength(3);
  });

  it("are made again after a long pause, with what was written meanwhile", async () => {
    const store = await server.open("pause");
    await dropMonths("pause");
    await applied(store, opening(sampleCall()));
    expect(await inOther("pause")).toBe(1);
    await server.open("pause");
    expect([(await months("pause")).length, await inOther("pause")]).toEqual([3, 0]);
    expect(await store.audit.read("acme", { strand: 0, after: 0, limit: 9 })).toHaveLength(1);
    await applied(store, opening(sampleCall()));
  });

  it("leave many rows where they are until their month is over", HANGS, async () => {
    await server.open("many");
    await dropMonths("many");
    await server.query(`INSERT INTO many.audit (tenant_id, strand, sequence, hash, body)
      SELECT 't', 0, n, '', '' FROM generate_series(1, 10001) AS n`);
    await server.open("many");
    expect([(await months("many")).length, await inOther("many")]).toEqual([2, 10_001]);
    await server.query("UPDATE many.audit_other SET written_at = '2020-01-15'");
    const made = "SET search_path TO many; SET DateStyle TO German; SELECT make_audit_partition('2020_01')";
    await server.query(made);
    expect([await months("many"), await inOther("many")]).toEqual([
      expect.arrayContaining(["audit_2020_01"]),
      0,
    ]);
  });

  it("keep nobody waiting behind a long reader: calls are written, and processes start", HANGS, async () => {
    // A unit that is held up for longer than this is refused.
    const store = await server.open("read", { lockTimeoutMs: 20_000, statementTimeoutMs: 30_000 });
    await dropMonths("read");
    // As `pg_dump`, or a forgotten session.
    const open = await connect("read");
    await open.query("BEGIN; SELECT 1 FROM audit LIMIT 1");
    let isStarted = false;
    const patient = { lockTimeoutMs: 60_000, statementTimeoutMs: 90_000 };
    const starting = server.open("read", patient).finally(() => {
      isStarted = true;
    });
    let writes = 0;
    while (!isStarted) {
      await applied(store, opening(sampleCall()));
      writes += 1;
    }
    const started = await starting;
    await applied(started, opening(sampleCall()));
    expect([await months("read"), await inOther("read")]).toEqual([[], writes + 1]);
    await open.query("COMMIT");
    await server.open("read");
    expect([(await months("read")).length, await inOther("read")]).toEqual([3, 0]);
    expect(await store.audit.heads("acme")).toMatchObject([{ sequence: writes + 1 }]);
  });

  it("are attached while readers and writers are at it, without a lock that they meet", HANGS, async () => {
    const store = await server.open("busy");
    await dropMonths("busy");
    const [writer, maker] = [await connect("busy"), await connect("busy")];
    const [, next] = (await server.query("SELECT busy.missing_audit_months() AS month")).map(
      ({ month }) => month,
    );
    // The row goes to the partition of this month, which is there.
    await server.open("busy");
    await server.query(`DROP TABLE busy.audit_${next}`);
    await writer.query(
      "BEGIN; INSERT INTO audit (tenant_id, strand, sequence, hash, body) VALUES ('t', 0, 1, '', '')",
    );
    await maker.query("SELECT make_audit_partition($1)", [next]);
    expect(await months("busy")).toHaveLength(3);
    await writer.query("ROLLBACK");
    await applied(store, opening(sampleCall()));
  });
});
