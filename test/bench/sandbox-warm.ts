import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createScriptRunner } from "@sallyport/engine";
import type { Sandbox } from "@sallyport/engine/ports";
import { SUBJECT, sumJob } from "./sandbox-job.ts";
import { runInside } from "./sandbox-orders.ts";
import { publishScript } from "./sandbox-published.ts";
import { type Racer, type RaceSize, race } from "./sandbox-race.ts";
import { type RaceReport, report } from "./sandbox-report.ts";

type ScriptRunner = ReturnType<typeof createScriptRunner>;

const NODE = "cold sandboxed node -e 0";
const WARM = "script tool, warm pool";
const COLD = "script tool, cold";
const WAITING = 2;
/** The pool is full by then; what is left of the last call and of the refill is over. */
const QUIET_MS = 30;

/** A call of a script tool: by a process that waits, and by one started for it. Each process serves one call. */
export async function raceWarm(
  { sandbox, folder }: { sandbox: Sandbox; folder: string },
  size: RaceSize,
): Promise<RaceReport> {
  const { node, entryUrl, moduleUrl } = publishScript(folder, fileURLToPath(SUBJECT));
  const pool = { perKey: WAITING, total: WAITING };
  const cold = createScriptRunner({ sandbox, node, entryUrl });
  const warm = createScriptRunner({ sandbox, node, entryUrl, pool });
  const call = (runner: ScriptRunner) => callOnce(runner, moduleUrl);
  const racers: Racer[] = [
    { name: NODE, run: () => runInside(sandbox, [node.path, "-e", "0"], { mounts: node.mounts }) },
    { name: COLD, run: () => call(cold) },
    { name: WARM, ready: () => filled(warm), run: () => call(warm) },
  ];
  await call(warm);
  const timings = await race(racers, size);
  await Promise.all([cold.close(), warm.close()]);
  return report("A script tool, one call per refill of the pool", timings, {
    aims: [
      { what: "warm call", of: WARM, against: NODE, as: "ratio", most: 0.1 },
      { what: "warm call", of: WARM, against: COLD, as: "ratio", most: 0.1 },
    ],
  });
}

async function filled(runner: ScriptRunner): Promise<void> {
  while (runner.counts().ready < WAITING) await pause(5);
  await pause(QUIET_MS);
}

async function callOnce(runner: ScriptRunner, moduleUrl: string): Promise<void> {
  const result = await runner.run(sumJob(moduleUrl));
  if (!result.ok) throw new Error(`the script tool failed: ${JSON.stringify(result.fault)}`);
}
