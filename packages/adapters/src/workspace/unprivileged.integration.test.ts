import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const PROGRAM = fileURLToPath(new URL("./testing/as-nobody.ts", import.meta.url));
const RUNS = Math.ceil(Number(process.env.SALLYPORT_EFFECT_RUNS ?? 2_000) / 40);

describe("random work on files by a user without rights", () => {
  it("leaves what it would leave in a plain folder, or nothing at all (overlay and copy) [R1-4.3] [R1-7.2]", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sallyport-nobody-"));
    try {
      await chmod(folder, 0o755);
      const orders = JSON.stringify({ folder, runs: RUNS, batch: 1, seed: 20_261_116 });
      const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, orders], { maxBuffer: 1e8 });
      const { uid, sequences, refused, wrong } = JSON.parse(stdout);
      console.log(`uid ${uid}: ${sequences} sequences, ${refused} refused`);
      expect(wrong).toEqual([]);
      expect(uid).not.toBe(0);
      expect(sequences).toBe(2 * RUNS);
      expect(refused).toBeLessThan(sequences / 10);
    } finally {
      await rm(folder, { recursive: true });
    }
  }, 900_000);
});
