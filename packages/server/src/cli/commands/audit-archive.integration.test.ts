import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgresStore } from "@sallyport/adapters/postgres";
import { auditBody } from "@sallyport/engine/chain";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { reasonToSkip, startService } from "../../../../../scripts/services.ts";
import { loadConfig } from "../../config/load.ts";
import { diagnose } from "../../doctor/diagnose.ts";
import { runLine } from "../fixtures/run-line.ts";

let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "sallyport-archive-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const run = (...argv: string[]) => runLine(cwd, ["audit", ...argv]);
const archiveLine = async () => (await diagnose(loadConfig({ cwd }))).find(({ what }) => what === "archive");

describe("sallyport audit archive", () => {
  it("says what is missing where nothing can be moved", async () => {
    const { code, err } = await run("archive");
    expect([code, err]).toEqual([2, expect.stringContaining("only a PostgreSQL store has months")]);
  });

  const reason = reasonToSkip("postgres");
  it.skipIf(reason !== undefined)(
    `moves months, tells which one stays and why, and doctor does${reason ? ` (${reason})` : ""} [L3-AUD-1]`,
    async () => {
      await using server = await startService("postgres");
      const url = `postgres://sallyport@127.0.0.1:${server.port}/postgres`;
      const configured = (more = "") =>
        writeFileSync(join(cwd, "sallyport.yaml"), `store: { postgres: { url: "${url}" } }\n${more}`);
      configured();
      expect((await run("archive")).err).toContain("`blobs` is not set");
      configured("blobs: { folder: blobs }\n");
      const store = await openPostgresStore({ connectionString: url });
      for (let n = 0; n < 2; n += 1)
        await store.commit({
          tenant: "acme",
          audit: auditBody("acme", [`{"eventId":"e:${n}","state":"DECLARED","timestamp":1}`]),
        });
      await store.close();
      expect(await run("archive")).toMatchObject({ code: 0, out: expect.stringMatching(/^No month ended/) });
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const body = (from: string, to: string) =>
        client.query(
          `UPDATE sallyport.audit SET body = replace(body, '${from}', '${to}') WHERE sequence = 1`,
        );
      await client.query(`SET search_path TO sallyport; SELECT make_audit_partition('2020_01');
        SELECT make_audit_partition('2020_02');
        UPDATE audit SET written_at = make_date(2020, sequence::integer, 15)`);
      await body("e:0", "x:0");

      const tried = await run("archive", "--dry-run", "--json");
      expect([tried.code, JSON.parse(tried.out)]).toMatchObject([
        1,
        {
          dryRun: true,
          months: [
            { month: "2020-01", problem: { code: "E3804" } },
            { month: "2020-02", units: 1 },
          ],
          waiting: [{ month: "2020-01" }, { month: "2020-02", tries: 0 }],
          last: null,
        },
      ]);
      expect(await archiveLine()).toMatchObject({
        verdict: "good",
        detail: expect.stringMatching(/waiting: 2020-01, 2020-02$/),
      });

      const moved = await run("archive");
      expect([moved.code, moved.out]).toMatchObject([
        1,
        expect.stringMatching(/2020-01 .*stays: .*\n2020-02 +1/),
      ]);
      expect(await archiveLine()).toMatchObject({
        verdict: "note",
        detail: expect.stringMatching(/2020-01 stays: E3804/),
      });
      const [name = ""] = moved.out.match(/audit\/2020-02\S+/) ?? [];
      const file = join(cwd, "blobs", name);
      expect(await run("verify", "--file", file)).toMatchObject({
        code: 0,
        out: expect.stringMatching(/acme: 1 events, intact/),
      });
      truncateSync(file, 60);
      expect(await run("verify", "--file", file)).toMatchObject({
        code: 70,
        err: expect.stringMatching(/cannot be unpacked/),
      });

      await body("x:0", "e:0");
      await client.end();
      expect((await run("archive")).code).toBe(0);
      expect((await run("verify")).out).toContain("older ones, up to #2, are in the archive");
      expect(await archiveLine()).toMatchObject({
        verdict: "good",
        detail: expect.stringMatching(/2020-02 is the last .*none waits/),
      });
    },
  );
});
