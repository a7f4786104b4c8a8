import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { countOf, seedOf } from "../../counts.ts";
import type { Kept } from "./kept-records.ts";
import { readKept } from "./kept-records.ts";
import { loadConfig } from "./load-config.ts";
import { type LoadPlan, type LoadRun, runLoad } from "./load-run.ts";
import { breachesOf, isCut } from "./reckoning.ts";
import { listBreaches, resultBreaches, untilQuiet, verifyAudit } from "./seen-over-http.ts";
import { ServerFolder } from "./server-folder.ts";

/** What a kill can have cut off in the middle, or made the next life send again. */
const MOST_PER_BATCH = 1_200;

/** Every end is published at least once; only what a kill explains is there twice or torn. */
function publishedBreaches(server: ServerFolder, { records }: Kept, kills: number): string[] {
  const lines = readFileSync(join(server.stateFolder, "events.jsonl"), "utf8").split("\n").slice(0, -1);
  const ids = lines.flatMap(idIn);
  const published = new Set(ids);
  const silent = [...records.values()].filter(({ callId, closing }) => {
    const type = closing?.status === "success" ? "tool.succeeded" : "tool.failed";
    return closing && !published.has(`${callId}:${type}`);
  });
  const torn = lines.length - ids.length;
  const again = ids.length - published.size;
  return [
    ...silent.map(({ callId }) => `never published: ${callId}`),
    ...(torn > kills ? [`${torn} torn lines by ${kills} kills`] : []),
    ...(again > kills * MOST_PER_BATCH ? [`${again} events published again by ${kills} kills`] : []),
  ];
}

function idIn(line: string): string[] {
  try {
    return [String(JSON.parse(line).id)];
  } catch {
    return [];
  }
}

const SECONDS = countOf("SALLYPORT_LOAD_SECONDS");
const SEED = seedOf();
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
      await using server = await ServerFolder.make(loadConfig({ durability }));
      const run = await runLoad(server, PLAN);
      const last = await server.start();
      await untilQuiet(server);
      const agents = Array.from({ length: PLAN.agents }, (_, agent) => `agent-${agent}`);
      const kept = await readKept(server, agents);
      const cut = [...kept.records.values()].filter(isCut).map(({ callId }) => callId);
      const some = [...kept.records.keys()].filter((_, index) => index % 50 === 0);
      expect.soft(breachesOf(run, kept), `seed ${SEED}`).toEqual([]);
      expect.soft(await listBreaches(server, kept)).toEqual([]);
      expect.soft(await resultBreaches(server, kept, [...cut, ...some])).toEqual([]);
      expect.soft(await verifyAudit(server)).toMatchObject({ verified: true });
      expect.soft(run.log.filter(({ level }) => level === "error")).toEqual([]);
      const unknown = [...kept.records.values()].filter(({ phase }) => phase === "unknown").length;
      console.log(inNumbers(run, { durability, calls: kept.records.size, cut: cut.length, unknown }));
      expect(run.kills).toHaveLength(PLAN.kills);
      expect(kept.records.size).toBeGreaterThan(PLAN.agents * PLAN.callersPerAgent);
      if (run.memory.seconds >= LONG_ENOUGH_S) expect(run.memory.growth).toBeLessThan(MOST_GROWTH);
      last.send("SIGTERM");
      expect(await last.gone).toMatchObject({ code: 0, signal: null });
      expect(publishedBreaches(server, kept, run.kills.length)).toEqual([]);
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
