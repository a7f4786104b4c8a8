import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isFailure } from "@sallyport/protocol";
import { openPathSandbox } from "../../../packages/adapters/src/path-sandbox/index.ts";
import { type Contender, measure, median, type Reading } from "../measure.ts";

const CHECKS = 2_000;

/** One kind of path: the sandbox's check against the system's bare `realpath` of the same path, in the same run. */
export interface PathSandboxRow {
  name: string;
  p50Us: number;
  p99Us: number;
  bareP50Us: number;
  /** Times bare `realpath`; what can be compared between machines. */
  ofBare: number;
}

const PATHS: readonly [name: string, path: string][] = [
  ["file in the root", "readme.md"],
  ["file ten folders deep", "a/b/c/d/e/f/g/h/i/j/x.ts"],
  ["file through two links", "one/x.ts"],
];

/** Measures checks of paths that exist (NFR-PERF-02: below a millisecond), interleaved in rounds; the first warms up. */
export async function benchPathSandbox(rounds: number): Promise<PathSandboxRow[]> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-bench-paths-")));
  try {
    plant(root);
    const rows: PathSandboxRow[] = [];
    for (const [name, path] of PATHS) rows.push(await race(name, { root, path, rounds }));
    return rows;
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function plant(root: string): void {
  for (const file of ["readme.md", "a/b/c/d/e/f/g/h/i/j/x.ts", "src/x.ts"]) {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    writeFileSync(join(root, file), "x");
  }
  symlinkSync("two", join(root, "one"));
  symlinkSync("src", join(root, "two"));
}

interface Course {
  root: string;
  path: string;
  rounds: number;
}

async function race(name: string, { root, path, rounds }: Course): Promise<PathSandboxRow> {
  const sandbox = openPathSandbox({ roots: [root] });
  if (isFailure(await sandbox.check(path))) throw new Error(`${path} has to pass`);
  const check: Contender = { name, call: () => sandbox.check(path) };
  const bare: Contender = { name: "bare realpath", call: () => realpath(join(root, path)) };
  const readings: { checked: Reading[]; bare: Reading[] } = { checked: [], bare: [] };
  for (let round = 0; round <= rounds; round += 1) {
    const one = await measure(check, 1, CHECKS);
    const other = await measure(bare, 1, CHECKS);
    if (round === 0) continue;
    readings.checked.push(one);
    readings.bare.push(other);
  }
  const p50Us = median(readings.checked, "p50Us");
  const bareP50Us = median(readings.bare, "p50Us");
  return { name, p50Us, p99Us: median(readings.checked, "p99Us"), bareP50Us, ofBare: p50Us / bareP50Us };
}

/** Prints what was measured. */
export function printPathSandbox(rows: readonly PathSandboxRow[]): void {
  console.table(
    Object.fromEntries(
      rows.map(({ name, p50Us, p99Us, bareP50Us, ofBare }) => [
        `path check: ${name}`,
        {
          "p50 µs": p50Us.toFixed(1),
          "p99 µs": p99Us.toFixed(1),
          "realpath p50 µs": bareP50Us.toFixed(1),
          "× realpath": ofBare.toFixed(2),
        },
      ]),
    ),
  );
}

if (process.argv[1] === import.meta.filename) {
  const rows = await benchPathSandbox(Number(process.env.SALLYPORT_BENCH_ROUNDS ?? 3));
  printPathSandbox(rows);
  console.log(JSON.stringify(rows));
}
