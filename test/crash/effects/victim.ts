import { live, openIn, type Scenario, sayMark } from "./scenario.ts";

/* A process that kills itself right before the n-th change it would make to the disk. */

interface Orders {
  scenario: Scenario;
  /** Instead of the scenario: what an earlier victim left is recovered, and the death comes in that. */
  recover?: { done: boolean };
  dieAt: number;
}

const { scenario, recover, dieAt } = JSON.parse(process.argv[2] ?? "{}") as Orders;
let steps = 0;

function onStep(): void {
  steps += 1;
  if (steps !== dieAt) return;
  process.kill(process.pid, "SIGKILL");
  // The signal is on its way; nothing more may happen until it lands.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
}

if (recover) await (await openIn(scenario, onStep)).recover(async () => recover.done);
else await live(scenario, onStep, sayMark);
