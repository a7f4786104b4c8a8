import { describe, expect, it } from "vitest";
import { HouseFolder } from "./house-folder.ts";
import { readKept } from "./kept-records.ts";
import { loadConfig } from "./load-config.ts";
import { type LoadPlan, type LoadRun, runLoad } from "./load-run.ts";
import { publishedBreaches } from "./published.ts";
import { breachesOf, isCut } from "./reckoning.ts";
import { listBreaches, resultBreaches, untilQuiet, verifyAudit } from "./seen-over-http.ts";

const SECONDS = Number(process.env.SALLYPORT_LOAD_SECONDS ?? 15);
const SEED = Number(process.env.SALLYPORT_SEED ?? 20_261_116);
const PLAN: LoadPlan = {
  seed: SEED,
  seconds: SECONDS,
  agents: 50,
  callersPerAgent: 4,
  kills: Math.max(2, Math.round(SECONDS / 6)),
};
/** Before so long, memory grows because caches fill. */
const LONG_ENOUGH_S = 25;
const MOST_GROWTH = 1.15;

describe.each(["process", "power"] as const)(
  "a server with durability %s, killed under load",
  (durability) => {
    it("gives every acknowledged call one outcome, does nothing twice, and its memory is flat [L3-EXE-4] [L3-EXE-5] [NFR-REL-04]", {
      timeout: 600_000 + SECONDS * 5_000,
    }, async () => {
      await using house = await HouseFolder.make(loadConfig({ durability }));
      const run = await runLoad(house, PLAN);
      const last = await house.start();
      await untilQuiet(house);
      const agents = Array.from({ length: PLAN.agents }, (_, agent) => `agent-${agent}`);
      const kept = await readKept(house, agents);
      const cut = [...kept.records.values()].filter(isCut).map(({ callId }) => callId);
      const some = [...kept.records.keys()].filter((_, index) => index % 50 === 0);
      expect.soft(breachesOf(run, kept), `seed ${SEED}`).toEqual([]);
      expect.soft(await listBreaches(house, kept)).toEqual([]);
      expect.soft(await resultBreaches(house, kept, [...cut, ...some])).toEqual([]);
      expect.soft(await verifyAudit(house)).toMatchObject({ verified: true });
      expect.soft(run.log.filter(({ level }) => level === "error")).toEqual([]);
      const unknown = [...kept.records.values()].filter(({ phase }) => phase === "unknown").length;
      console.log(inNumbers(run, { durability, calls: kept.records.size, cut: cut.length, unknown }));
      expect(run.kills).toHaveLength(PLAN.kills);
      expect(kept.records.size).toBeGreaterThan(PLAN.agents * PLAN.callersPerAgent);
      if (run.memory.seconds >= LONG_ENOUGH_S) expect(run.memory.growth).toBeLessThan(MOST_GROWTH);
      last.send("SIGTERM");
      expect(await last.gone).toMatchObject({ code: 0, signal: null });
      expect(publishedBreaches(house, kept, run.kills.length)).toEqual([]);
    });
  },
);

function inNumbers({ book, kills, memory }: LoadRun, more: Record<string, unknown>): string {
  const sorted = book.latencies.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
  const { tenths, growth, seconds } = memory;
  return JSON.stringify({
    ...more,
    kills: kills.length,
    syncMs: { answers: sorted.length, p50: at(0.5), p99: at(0.99) },
    told: book.counts,
    residentMiB: { seconds, tenths, growth: Number(growth.toFixed(3)) },
  });
}
