import { execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifyChain } from "@sallyport/engine";
import { auditBody } from "@sallyport/engine/chain";
import { opening, sampleCall } from "@sallyport/engine/testing";
import { SallyportError } from "@sallyport/protocol";
import { expect, it } from "vitest";
import { reasonToSkip } from "../../../../scripts/services.ts";
import { TestServer } from "./fixtures/server.ts";

const SIZE = 48 * 2 ** 20;
const noServer = reasonToSkip("postgres");

/** A disk of its own, small enough to fill; throws where none can be mounted. */
function mountDisk() {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", folder], { stdio: "pipe" });
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
  const remove = () => {
    execFileSync("umount", [folder]);
    rmSync(folder, { recursive: true });
  };
  return { folder, [Symbol.dispose]: remove };
}

function diskOrReason() {
  try {
    return mountDisk();
  } catch (error) {
    return `no disk can be mounted: ${error instanceof Error ? error.message : error}`;
  }
}

it.skipIf(noServer !== undefined)(
  `a full disk refuses units with E3914 and spoils nothing; with space the store goes on [D-8]${noServer ? ` (${noServer})` : ""}`,
  async ({ skip }) => {
    const mounted = diskOrReason();
    if (typeof mounted === "string") return skip(mounted);
    using disk = mounted;
    await using server = await TestServer.start();
    const { folder } = disk;
    const [row] = await server.query("SELECT current_setting('data_directory') AS data");
    const { uid, gid } = statSync(String(row?.data));
    chownSync(folder, uid, gid);
    await server.query(`CREATE TABLESPACE small LOCATION '${folder}'`);
    await server.query("CREATE DATABASE small TABLESPACE small");
    const connectionString = server.url("sallyport", "small");
    // Also a word of SQL: schemas may be named like that.
    const store = await server.open("full", { connectionString });
    const { bavail, bsize } = statfsSync(folder);
    writeFileSync(join(folder, "filler"), Buffer.alloc(bavail * bsize - 3 * 2 ** 20));
    const kept: string[] = [];
    let n = 0;
    const commit = () => {
      n += 1;
      // Text that does not compress, so that the disk fills.
      const odd = crypto.getRandomValues(Buffer.alloc(40_000)).toString("hex");
      const call = sampleCall({ input: JSON.stringify({ odd }) });
      const event = JSON.stringify({ eventId: `e:${n}`, odd, state: "DECLARED", timestamp: n });
      const unit = { ...opening(call), audit: auditBody("acme", [event]) };
      return store.commit(unit).then((result) => {
        expect(result.ok).toBe(true);
        kept.push(call.callId);
      });
    };
    let refusal: unknown;
    for (let tries = 0; tries < 2_000 && refusal === undefined; tries += 1)
      await commit().catch((error: unknown) => {
        refusal = error;
      });
    const failure = refusal instanceof SallyportError ? refusal.failure : undefined;
    expect(failure).toMatchObject({ code: "E3914", advice: expect.stringContaining("free some space") });
    const whole = async () => {
      const calls = await store.calls.list({ limit: 10_000 });
      expect(calls.map(({ callId }) => callId)).toEqual(kept.toReversed());
      const { strands, findings } = await verifyChain(store.audit, "acme");
      expect([strands[0]?.sequence, findings]).toEqual([kept.length, []]);
    };
    expect(kept.length).toBeGreaterThan(3);
    await whole();
    rmSync(join(folder, "filler"));
    for (let more = 0; more < 20; more += 1) await commit();
    await whole();
    await store.close();
  },
);
