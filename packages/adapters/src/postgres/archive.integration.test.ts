import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { createMemoryBlobs, verifyChain } from "@sallyport/engine";
import { auditBody, genesis, linkAfter } from "@sallyport/engine/chain";
import { ExportCheck } from "@sallyport/engine/host";
import type { AuditArchiver, Blobs, Store } from "@sallyport/engine/ports";
import { applied, unitOf } from "@sallyport/engine/testing";
import { canonicalJson } from "@sallyport/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { S3_ACCESS } from "../../../../scripts/service-table.ts";
import { reasonToSkip, startService } from "../../../../scripts/services.ts";
import { openFolderBlobs, openS3Blobs } from "../blobs/index.ts";
import { TestServer } from "./fixtures/server.ts";

const reason = reasonToSkip("postgres");
/** Far beyond everything that is waited for: it says that something hangs. */
const HANGS = { timeout: 120_000 };
const keepMs = 90 * 86_400_000;
const MONTHS = ["2020-01", "2020-02"];

describe.skipIf(reason !== undefined)(`The audit archive${reason ? ` (${reason})` : ""}`, () => {
  let server: TestServer;
  let store: Store & AuditArchiver;
  let other: Store & AuditArchiver;
  let schema: string;
  let rounds = 0;

  beforeAll(async () => {
    server = await TestServer.start();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  /** Twelve units in three strands of two tenants: six of January, four of February, two of now. */
  beforeEach(async () => {
    rounds += 1;
    schema = `round_${rounds}`;
    store = await server.open(schema);
    other = await server.open(schema);
    for (let n = 0; n < 12; n += 1) {
      const [tenant, strand] = n % 3 === 0 ? ["b\u0000\u2028", 0] : ["acme", (n % 3) - 1];
      const event = { eventId: `e:${n}`, state: "DECLARED", timestamp: n, odd: "\ud83d\ude00" };
      await applied(store, unitOf({ tenant, strand, audit: auditBody(tenant, [canonical(event)]) }));
    }
    const months: [month: string, from: number, to: number][] = [
      ["2020-01", 0, 2],
      ["2020-02", 2, 3],
    ];
    for (const [month, from, to] of months) {
      const next = month === "2020-01" ? "2020-02" : "2020-03";
      await server.query(`CREATE TABLE ${schema}.audit_${month.replace("-", "_")} PARTITION OF ${schema}.audit
        FOR VALUES FROM ('${month}-01 00:00:00+00') TO ('${next}-01 00:00:00+00')`);
      await server.query(
        `UPDATE ${schema}.audit SET written_at = '${month}-15' WHERE sequence > ${from} AND sequence <= ${to}`,
      );
    }
  });

  /** Somebody with an open transaction that has locked a table. */
  const locking = (table: string, mode = "ACCESS EXCLUSIVE") =>
    server.client(`BEGIN; LOCK TABLE ${schema}.${table} IN ${mode} MODE`);

  /** Blobs that count what is put, and do something after it. */
  const counted = (afterPut?: () => Promise<void>, blobs = createMemoryBlobs()) => {
    const counting = {
      ...blobs,
      puts: 0,
      put: async (...order: Parameters<Blobs["put"]>) => {
        await blobs.put(...order);
        counting.puts += 1;
        await afterPut?.();
      },
    };
    return counting;
  };

  const left = async () =>
    (await server.query(`SELECT count(*)::int AS units FROM ${schema}.audit`))[0]?.units;
  const findings = async () => {
    const found: string[] = (await store.audit.strays?.()) ?? [];
    for (const tenant of await store.audit.tenants())
      found.push(...(await verifyChain(store.audit, tenant)).findings.map(({ problem }) => problem));
    return found;
  };

  async function archivesTo(blobs: Blobs): Promise<void> {
    const parts = await store.archiveAudit({ blobs, keepMs });
    expect(parts.map(({ month, units }) => [month, units])).toEqual([
      ["2020-01", 6],
      ["2020-02", 3],
    ]);
    for (const [n, { name = "" }] of parts.entries()) {
      await verifies(blobs, name);
      const exported = await exportIn(blobs, name);
      // What states where it begins cannot be made to begin elsewhere.
      if (n === 1)
        expect(() => new ExportCheck().add(exported.replace('"sequence":2', '"sequence":1'))).toThrow();
    }
    expect([await left(), await findings()]).toEqual([3, []]);
    expect(await store.archiveAudit({ blobs, keepMs })).toEqual([]);
  }

  /** As `sallyport audit verify --file` does. */
  async function verifies(blobs: Blobs, name = ""): Promise<void> {
    const check = new ExportCheck();
    for (const line of (await exportIn(blobs, name)).split("\n")) check.add(line);
    const { chains, problems } = check.finish();
    expect([...problems, ...chains.flatMap((chain) => chain.findings)]).toEqual([]);
  }

  it("goes on with months in which a strand was silent that an anchor names [L3-AUD-1] [D-17]", async () => {
    const [, silent] = await store.audit.heads("acme");
    const anchor = { anchors: [{ ...silent }], eventId: "a", state: "STRANDS_ANCHORED", timestamp: 9 };
    await applied(store, unitOf({ audit: auditBody("acme", [canonicalJson(anchor)]) }));
    await server.query(`UPDATE ${schema}.audit SET written_at = '2020-01-20' WHERE strand = 1;
      UPDATE ${schema}.audit SET written_at = '2020-02-20' WHERE strand = 0 AND sequence > 2`);
    const blobs = createMemoryBlobs();
    const parts = await store.archiveAudit({ blobs, keepMs });
    expect(parts.map(({ month, problem }) => [month, problem])).toEqual(
      MONTHS.map((month) => [month, undefined]),
    );
    for (const { name } of parts) await verifies(blobs, name);
    expect(await findings()).toEqual([]);
  });

  it("takes months that are old enough, and what remains is checked from there [L3-AUD-1]", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-archive-"));
    await archivesTo(openFolderBlobs({ folder: join(folder, "blobs") }));
    rmSync(folder, { recursive: true });
    const audit = auditBody("acme", [canonical({ eventId: "later", state: "DECLARED", timestamp: 1 })]);
    await applied(store, unitOf({ audit }));
    expect(await findings()).toEqual([]);
    const [last] = await store.audit.read("acme", { strand: 0, after: 0, limit: 1 });
    await server.query(
      `DELETE FROM ${schema}.audit WHERE tenant_id = 'acme' AND strand = 0 AND sequence = $1`,
      [last?.sequence],
    );
    expect(await findings()).toContain("missing");
    await server.query(`UPDATE ${schema}.audit_archived SET hash = repeat('0', 64)`);
    expect(await findings()).toContain("changed");
  });

  const s3 = reasonToSkip("versitygw");
  it.skipIf(s3 !== undefined)(`goes to a bucket too${s3 ? ` (${s3})` : ""}`, async () => {
    await using gateway = await startService("versitygw");
    const { accessKeyId, secretAccessKey, region, bucket } = S3_ACCESS;
    const endpoint = `http://127.0.0.1:${gateway.port}`;
    const credentials = () => ({ accessKeyId, secretAccessKey });
    await archivesTo(openS3Blobs({ endpoint, region, bucket, plainHttp: true, credentials }));
  });

  it("drops nothing when the place is down, or gives back something else", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-archive-"));
    writeFileSync(join(folder, "blobs"), "a file in the way");
    const down = openFolderBlobs({ folder: join(folder, "blobs") });
    const whole = createMemoryBlobs();
    const forgetful: Blobs = { ...whole, put: (name) => whole.put(name, new Uint8Array(5)) };
    const lossy: Blobs = {
      ...whole,
      put: async (_name, source) => {
        for await (const _piece of source as AsyncIterable<Uint8Array>);
      },
    };
    for (const blobs of [down, forgetful, lossy]) {
      const parts = await store.archiveAudit({ blobs, keepMs, isUrgent: true });
      expect(parts).toMatchObject(MONTHS.map((month) => ({ month, problem: { code: "E3949" } })));
    }
    expect([await left(), await findings()]).toEqual([12, []]);
    // Not again an hour long, and each time it is asked for.
    const waiting = { problem: expect.stringContaining("E3949"), tries: 3, isWritten: false };
    expect(await store.archiveState(keepMs)).toMatchObject({ waiting: [waiting, waiting] });
    expect(await store.archiveAudit({ blobs: whole, keepMs })).toEqual([]);
    expect(await store.archiveAudit({ blobs: whole, keepMs, isUrgent: true })).toHaveLength(2);
    rmSync(folder, { recursive: true });
  });

  it("drops no month whose chain is broken, and goes on with the next", async () => {
    await server.query(`UPDATE ${schema}.audit_2020_01 SET body = replace(body, 'e:1"', 'e:x"')`);
    const blobs = createMemoryBlobs();
    const parts = await store.archiveAudit({ blobs, keepMs });
    expect(parts).toMatchObject([{ month: "2020-01", problem: { code: "E3804" } }, { month: "2020-02" }]);
    expect(parts[1]).not.toHaveProperty("problem");
    expect((await blobs.list("")).blobs.map(({ name }) => name)).toEqual([parts[1]?.name]);
    expect([await left(), await findings()]).toEqual([9, ["changed"]]);
    await verifies(blobs, parts[1]?.name);
    // Once it is mended, it follows, and nothing is told of the order in which they went.
    await server.query(`UPDATE ${schema}.audit_2020_01 SET body = replace(body, 'e:x"', 'e:1"')`);
    expect(await store.archiveAudit({ blobs, keepMs, isUrgent: true })).toMatchObject([
      { month: "2020-01", units: 6 },
    ]);
    expect([await left(), await findings()]).toEqual([3, []]);
    expect((await store.audit.archived?.("acme"))?.map(({ after }) => after)).toEqual([undefined, undefined]);
    expect(await store.archiveState(keepMs)).toMatchObject({
      waiting: [],
      last: { month: "2020-02", units: 3 },
    });
  });

  it.each([
    ["of a strand without a head", "acme", 7, 1],
    ["of a strand below the first", "acme", -1, 1],
    ["with the sequence 0", "acme", 0, 0],
    ["with a sequence below 0", "acme", 1, -5],
    ["with a sequence that no number holds", "acme", 0, "1152921504606846977"],
    ["of a tenant without a head", "ghost", 0, 1],
    ["of a tenant that no store writes", "\u0001x", 0, 1],
  ])("sees a forged row %s, and keeps its month [R1-8.1] [D-17]", async (_, tenant, strand, sequence) => {
    expect(await findings()).toEqual([]);
    const body = auditBody(tenant, [canonical({ eventId: "f", state: "DECLARED", timestamp: 1 })]);
    const { hash } = linkAfter(genesis(strand), body);
    await server.query(`INSERT INTO ${schema}.audit VALUES ($1, $2, $3, '2020-01-16', $4, $5)`, [
      ...[tenant, strand, sequence],
      ...[hash, body],
    ]);
    expect(await findings()).not.toEqual([]);
    const parts = await store.archiveAudit({ blobs: createMemoryBlobs(), keepMs });
    expect(parts[0]).toMatchObject({ month: "2020-01", problem: { code: "E3804" } });
  });

  it("sees a unit that stands twice, also where a page ends between the two [R1-8.1]", async () => {
    await server.query(`INSERT INTO ${schema}.audit SELECT tenant_id, strand, sequence, written_at + interval '1 day',
      hash, replace(body, 'e:1"', 'e:x"') FROM ${schema}.audit WHERE tenant_id = 'acme' AND strand = 0 AND sequence = 1`);
    const [first = [], second = []] = await Promise.all(
      [0, 1].map((after) => store.audit.read("acme", { strand: 0, after, limit: 1 })),
    );
    expect([first, second].map((page) => page.map(({ sequence }) => sequence))).toEqual([[1, 1], [2]]);
    expect(new Set(first.map(({ body }) => body)).size).toBe(2);
  });

  it("holds up nobody while it notes what it has taken", async () => {
    const blocker = await locking("audit_archived", "EXCLUSIVE");
    const archiving = store.archiveAudit({ blobs: createMemoryBlobs(), keepMs }).catch(() => []);
    const locks = (table: string, granted: boolean) =>
      server.query(
        "SELECT FROM pg_locks WHERE relation = $1::regclass AND granted = $2 AND mode ~ 'Exclusive'",
        [`${schema}.${table}`, granted],
      );
    await expect
      .poll(() => locks("audit_archived", false), { interval: 20, timeout: 30_000 })
      .toHaveLength(1);
    expect(await locks("audit", true)).toEqual([]);
    await blocker.query("COMMIT");
    await archiving;
  });

  it("takes as long as it takes", HANGS, async () => {
    const limits = { statementTimeoutMs: 5_000, lockTimeoutMs: 100_000 };
    const slow = await server.open(schema, limits);
    const blocker = await locking("audit_archived");
    const archiving = slow.archiveAudit({ blobs: createMemoryBlobs(), keepMs });
    const waiting = () =>
      server.query(
        `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'audit_archived'
          AND query_start < now() - interval '7 seconds'`,
      );
    // Longer than a statement of a call may take.
    await expect.poll(waiting, { interval: 100, timeout: 60_000 }).toHaveLength(1);
    await blocker.query("COMMIT");
    expect((await archiving).map(({ month, problem }) => [month, problem])).toEqual(
      MONTHS.map((month) => [month, undefined]),
    );
  });

  it(
    "holds up nobody behind a long reader, and does not write again what it has written",
    HANGS,
    async () => {
      const blobs = counted();
      const reader = await locking("audit", "ACCESS SHARE");
      await reader.query(`SELECT 1 FROM ${schema}.audit LIMIT 1`);
      let isOver = false;
      const archiving = store.archiveAudit({ blobs, keepMs }).finally(() => {
        isOver = true;
      });
      // Held up for as long as a reader stays, a unit would be refused.
      while (!isOver) await applied(other, unitOf({ audit: auditBody("acme", ['{"eventId":"w"}']) }));
      expect(await archiving).toMatchObject(MONTHS.map((month) => ({ month, problem: { code: "E3914" } })));
      const { waiting } = await store.archiveState(keepMs);
      expect([blobs.puts, waiting.map(({ isWritten }) => isWritten)]).toEqual([2, [true, true]]);
      await reader.query("COMMIT");
      const parts = await other.archiveAudit({ blobs, keepMs });
      expect(parts.map(({ month, units }) => [month, units])).toEqual([
        ["2020-01", 6],
        ["2020-02", 3],
      ]);
      expect([blobs.puts, await findings()]).toEqual([2, []]);
    },
  );

  it("goes on after a cut with what was put, and writes a month anew that has changed meanwhile", async () => {
    const kept = createMemoryBlobs();
    const blobs = counted(async () => void (await server.cut()), kept);
    await expect(store.archiveAudit({ blobs, keepMs })).rejects.toMatchObject({ failure: { code: "E3914" } });
    expect([blobs.puts, await left()]).toEqual([1, 12]);
    const reader = await locking("audit", "ACCESS SHARE");
    await reader.query(`SELECT 1 FROM ${schema}.audit LIMIT 1`);
    const again = counted(undefined, kept);
    expect(await other.archiveAudit({ blobs: again, keepMs })).toHaveLength(2);
    expect(again.puts).toBe(1);
    await reader.query(`INSERT INTO ${schema}.audit VALUES ('acme', 9, 1, '2020-01-16', '', '{}'); COMMIT`);
    const parts = await other.archiveAudit({ blobs: again, keepMs });
    expect(parts).toMatchObject([
      { month: "2020-01", problem: { code: "E3804" } },
      { month: "2020-02", units: 3 },
    ]);
    expect(again.puts).toBe(1);
  });

  it("ends at once when it is told to, and goes on another time", HANGS, async () => {
    const stop = new AbortController();
    const stuck: Blobs = {
      ...createMemoryBlobs(),
      put: () => {
        stop.abort();
        return new Promise(() => undefined);
      },
    };
    expect(await store.archiveAudit({ blobs: stuck, keepMs, signal: stop.signal })).toEqual([]);
    expect(await left()).toBe(12);
    const blobs = createMemoryBlobs();
    // Its connection holds the lock until the server has noticed.
    await expect.poll(() => store.archiveAudit({ blobs, keepMs }), { timeout: 60_000 }).toHaveLength(2);
  });

  it("can be tried without moving anything", async () => {
    const blobs = counted();
    const parts = await store.archiveAudit({ blobs, keepMs, isTrial: true });
    expect(parts).toMatchObject([
      { month: "2020-01", units: 6 },
      { month: "2020-02", units: 3 },
    ]);
    expect([blobs.puts, await left()]).toEqual([0, 12]);
    expect((await store.archiveState(keepMs)).waiting).toMatchObject([{ tries: 0 }, { tries: 0 }]);
    const moved = await store.archiveAudit({ blobs, keepMs });
    expect(moved.map(({ name }) => name)).toEqual(parts.map(({ name }) => name));
  });

  it("takes rows that nobody could make a month for", async () => {
    await server.query(
      `WITH moved AS (DELETE FROM ${schema}.audit_2020_01 RETURNING *) INSERT INTO ${schema}.audit_2020_02
        SELECT tenant_id, strand, sequence, '2020-02-01', hash, body FROM moved`,
    );
    await server.query(`ALTER TABLE ${schema}.audit DETACH PARTITION ${schema}.audit_2020_02;
      INSERT INTO ${schema}.audit SELECT * FROM ${schema}.audit_2020_02; DROP TABLE ${schema}.audit_2020_02`);
    const parts = await store.archiveAudit({ blobs: createMemoryBlobs(), keepMs });
    expect(parts.map(({ month, units, problem }) => [month, units, problem])).toEqual([
      ["2020-01", 0, undefined],
      ["2020-02", 9, undefined],
    ]);
    expect([await left(), await findings()]).toEqual([3, []]);
  });

  it("is one process's work at a time", async () => {
    const blobs = createMemoryBlobs();
    let inside = 0;
    const slow: Blobs = {
      ...blobs,
      put: async (...order) => {
        inside += 1;
        expect(await other.archiveAudit({ blobs, keepMs })).toEqual([]);
        await blobs.put(...order);
      },
    };
    expect((await store.archiveAudit({ blobs: slow, keepMs })).map(({ month }) => month)).toEqual(MONTHS);
    expect([inside, await left(), await findings()]).toEqual([2, 3, []]);
  });
});

async function exportIn(blobs: Blobs, name: string): Promise<string> {
  const stream = await blobs.get(name);
  return stream ? gunzipSync(await buffer(stream)).toString() : "";
}

/** Members in order, as canonical JSON has them. */
function canonical(event: Record<string, unknown>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(event).sort(([a], [b]) => (a < b ? -1 : 1))));
}
