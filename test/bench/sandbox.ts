import { chmodSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { createSandbox } from "@sallyport/adapters/sandbox";
import { openWorkspaces } from "@sallyport/adapters/workspace";
import { raceCommits, raceNewFiles } from "./effects.ts";
import { raceCold } from "./sandbox-cold.ts";
import { raceGuarded } from "./sandbox-guarded.ts";
import { printReport, type RaceReport } from "./sandbox-report.ts";
import { raceViews } from "./sandbox-view.ts";
import { raceWarm } from "./sandbox-warm.ts";

/*
 * Isolation and effects: how long things take against references in the same run, in interleaved rounds. Nothing here
 * passes or fails. Runs by itself too: `node test/bench/sandbox.ts [cold|warm|commits|new-files|views|guarded …]`.
 */

const ROUNDS = Number(process.env.SALLYPORT_BENCH_ROUNDS ?? 8);

/** What every race is given. */
interface Ground {
  sandbox: ReturnType<typeof createSandbox>;
  workspaces: Awaited<ReturnType<typeof openWorkspaces>>;
  folder: string;
}

const RACES: Record<string, (ground: Ground) => Promise<RaceReport>> = {
  cold: ({ sandbox }) => raceCold(sandbox, { rounds: ROUNDS, runs: 10 }),
  warm: ({ sandbox, folder }) =>
    raceWarm({ sandbox, folder: join(folder, "script") }, { rounds: ROUNDS, runs: 4 }),
  commits: (ground) => raceCommits(ground, { rounds: ROUNDS, runs: 3 }),
  "new-files": (ground) => raceNewFiles(ground, { rounds: 1, runs: 1 }),
  views: (ground) => raceViews(ground, { rounds: ROUNDS, runs: 6 }),
  guarded: ({ folder, ...ground }) =>
    raceGuarded({ ...ground, folder: join(folder, "guarded") }, { rounds: ROUNDS, runs: 5 }),
};

/** Runs the races, prints them and gives back what came out; says why when there is no sandbox here. */
export async function benchIsolation(names: readonly string[] = Object.keys(RACES)): Promise<RaceReport[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sallyport-bench-")));
  chmodSync(folder, 0o755);
  const sandbox = createSandbox({ runtimeFolder: join(folder, "run") });
  try {
    const why = await missing(sandbox);
    if (why) {
      console.log(`Isolation and effects: not available, ${why}`);
      return [];
    }
    const workspaces = await openWorkspaces({ folder: join(folder, "state"), keepBytes: 0 });
    console.log(`${cpus().length} cores, Node ${process.versions.node}, ${ROUNDS} interleaved rounds`);
    const reports: RaceReport[] = [];
    for (const name of names) {
      const done = await RACES[name]?.({ sandbox, workspaces, folder });
      if (!done) throw new Error(`There is no benchmark "${name}".`);
      printReport(done);
      reports.push(done);
    }
    return reports;
  } finally {
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function missing(sandbox: Ground["sandbox"]): Promise<string | undefined> {
  const offers = (await sandbox.offers()).filter(({ level }) => level === "LEVEL_2");
  if (offers.some(({ available }) => available)) return undefined;
  return offers.flatMap(({ backend, missing }) => missing.map((one) => `${backend}: ${one}`)).join("; ");
}

if (import.meta.main) {
  const names = process.argv.slice(2);
  console.log(JSON.stringify(await benchIsolation(names.length > 0 ? names : undefined)));
}
