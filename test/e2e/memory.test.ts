import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const SCRIPT = fileURLToPath(new URL("../bench/memory.ts", import.meta.url));

it("does not grow with the number of calls (short version of the soak run) [MCX-9]", async () => {
  const env = { ...process.env, SALLYPORT_SOAK_CALLS: "100000" };
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", SCRIPT], { env });
  const [, growth] = stdout.match(/second half over first half: ([\d.]+)/) ?? [];
  expect(Number(growth)).toBeGreaterThan(0);
  expect(Number(growth)).toBeLessThan(1.1);
});
