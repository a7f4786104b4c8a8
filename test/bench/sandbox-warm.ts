import { setTimeout as pause } from "node:timers/promises";
import { nodeRuntime } from "@sallyport/adapters/sandbox-runners";
import { createScriptRunner, type Sandbox } from "@sallyport/engine";
import { sumJob } from "./sandbox-job.ts";
import { runInside } from "./sandbox-orders.ts";
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
export async function raceWarm(sandbox: Sandbox, size: RaceSize): Promise<RaceReport> {
  const runtime = nodeRuntime();
  const { node } = runtime;
  const cold = createScriptRunner({ sandbox, ...runtime });
  const warm = createScriptRunner({ sandbox, ...runtime, pool: { perKey: WAITING, total: WAITING } });
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
      { what: "warm call", of: WARM, against: COLD, as: "ratio" },
    ],
  });
}

async function filled(runner: ScriptRunner): Promise<void> {
  while (runner.counts().ready < WAITING) await pause(5);
  await pause(QUIET_MS);
}

async function call(runner: ScriptRunner): Promise<void> {
  const result = await runner.run(sumJob());
  if (!result.ok) throw new Error(`the script tool failed: ${JSON.stringify(result.fault)}`);
}
