import { expect, it } from "vitest";
import { type SimulationReport, simulate } from "./simulation.ts";

const SEED = Number(process.env.SALLYPORT_SEED ?? 1);
const WORLDS = Number(process.env.SALLYPORT_SIMULATED_WORLDS ?? 200);

it("a fleet in a simulated time keeps its promises whatever fails, in every world [X-21] [X-5] [X-9] [D-4]", async () => {
  const faults: Record<string, number> = {};
  for (let seed = SEED; seed < SEED + WORLDS; seed += 1) {
    const report = await simulate(seed);
    expect(report.broken, `seed ${seed}\n${report.trace}`).toEqual([]);
    for (const [name, count] of Object.entries(report.faults)) faults[name] = (faults[name] ?? 0) + count;
  }
  console.log(`${WORLDS} simulated worlds from seed ${SEED}: ${JSON.stringify(faults)}`);
});

it("a simulated world is the same again with the same seed, and another with another", async () => {
  const reports: SimulationReport[] = [];
  for (const seed of [SEED, SEED, SEED + 1]) reports.push(await simulate(seed));
  const [first, again, other] = reports;
  expect(again).toEqual(first);
  expect(other?.trace).not.toBe(first?.trace);
});
