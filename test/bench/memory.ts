import { publishPending } from "@sallyport/engine";
import { countOf } from "../counts.ts";
import { guardedContender, inMemory } from "./guarded.ts";
import { MANY_CALLERS, measure } from "./measure.ts";

/* Is memory flat? Takes readings while a great many calls pass; what is kept of them is bounded. */

const CALLS = countOf("SALLYPORT_SOAK_CALLS");
const STEPS = 10;
const MIB = 2 ** 20;

const store = inMemory();
const publication = { name: "bench", instance: "bench", sink: { send: async () => undefined } };
const contender = await guardedContender({ name: "memory", store, runner: "inline", sinks: ["bench"] });
await measure(contender, MANY_CALLERS, 30_000);
const readings: number[] = [];
for (let step = 0; step < STEPS; step += 1) {
  await measure(contender, MANY_CALLERS, CALLS / STEPS);
  // Events wait for their sink, as they must; here they have one.
  await publishPending(store.outbox, publication);
  await new Promise((resolve) => setTimeout(resolve, 300));
  globalThis.gc?.();
  readings.push(process.memoryUsage().heapUsed / MIB);
}
await contender.close?.();
const half = STEPS / 2;
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const growth = mean(readings.slice(half)) / mean(readings.slice(0, half));
console.log(
  `${CALLS} calls; heap after each tenth, MiB: ${readings.map((value) => value.toFixed(1)).join(" ")}`,
);
console.log(
  `second half over first half: ${growth.toFixed(3)}${globalThis.gc ? "" : " (run with --expose-gc for a true reading)"}`,
);
if (growth > 1.1) process.exitCode = 1;
