import type { Sandbox } from "@sallyport/engine/ports";
import { runInside } from "./sandbox-orders.ts";
import { type RaceSize, race } from "./sandbox-race.ts";
import { bareSpawn, isOnPath, plainBubblewrap } from "./sandbox-references.ts";
import { type RaceReport, report } from "./sandbox-report.ts";
import { SANDBOX_RUNTIME, sandboxRuntime } from "./sandbox-runtime.ts";

const TRUE = ["/bin/true"];
const OURS = "Sallyport LEVEL_2";

/** What a sandbox costs when nothing was started ahead: from the order until its whole tree is gone. */
export async function raceCold(sandbox: Sandbox, size: RaceSize): Promise<RaceReport> {
  const bubblewrap = isOnPath("bwrap");
  const runtime = await sandboxRuntime("/bin/true");
  const racers = [
    bareSpawn(TRUE),
    ...(bubblewrap ? [plainBubblewrap(TRUE)] : []),
    { name: OURS, run: () => runInside(sandbox, TRUE) },
    ...("racer" in runtime ? [runtime.racer] : []),
  ];
  const timings = await race(racers, size);
  if ("close" in runtime) await runtime.close();
  const cold = { what: "cold start", of: OURS, as: "ratio" as const };
  return report("A cold run of /bin/true, start to nothing left", timings, {
    aims: [
      { ...cold, against: "bare spawn" },
      { ...cold, against: "plain bubblewrap", most: 1.5 },
      { ...cold, against: SANDBOX_RUNTIME, most: 1 },
    ],
    unavailable: [
      ...(bubblewrap ? [] : ["plain bubblewrap: bwrap is not on PATH"]),
      ...("reason" in runtime ? [runtime.reason] : []),
    ],
  });
}
