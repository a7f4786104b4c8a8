import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { removeTree } from "../../../packages/adapters/src/workspace/remove-tree.ts";
import { workload } from "../../../packages/adapters/src/workspace/testing/random-workload.ts";
import { type Snapshot, snapshot } from "../../../packages/adapters/src/workspace/testing/snapshot.ts";
import { countOf, seedOf } from "../../counts.ts";
import { seeded } from "../seeded.ts";
import { die } from "./death.ts";
import { layOut, live, openIn, prepare, type Scenario, STORIES } from "./scenario.ts";

/*
 * Processes are killed with SIGKILL right before a seeded change of the disk while they apply, take back, undo or hold a
 * call's changes, every third time once more while the next process recovers. Then a new process recovers: the workspace
 * is what it was before or what it should become, to the bit, and nothing else is left anywhere.
 */

const KILLS = countOf("SALLYPORT_EFFECT_KILLS");
const SEED = seedOf();
const FAMILIES = 2;

interface Outlook {
  before: Snapshot;
  after: Snapshot;
  /** How many changes of the disk the whole life takes. */
  steps: number;
}

/** Lives the life to its end in another place: what it starts from, what it comes to, and how many steps it takes. */
async function foresee(scenario: Scenario): Promise<Outlook> {
  const twin = { ...scenario, base: `${scenario.base}-twin` };
  const ws = join(twin.base, "ws");
  let steps = 0;
  const count = () => {
    steps += 1;
  };
  try {
    await layOut(twin);
    await prepare(twin);
    const before = await snapshot(ws);
    await live(twin, count, () => undefined);
    return { before, after: await snapshot(ws), steps };
  } finally {
    await removeTree(twin.base);
  }
}

function withoutTimes(tree: Snapshot): Snapshot {
  return Object.fromEntries(
    Object.entries(tree).map(([path, what]) => [
      path,
      what.startsWith("file") ? what.replace(/ \d{16,}$/, "") : what,
    ]),
  );
}

/** What must hold after the last recovery. */
async function examine(
  scenario: Scenario,
  outlook: Outlook & { timed: Snapshot; done: boolean },
): Promise<string[]> {
  const wrong: string[] = [];
  const now = await snapshot(join(scenario.base, "ws"), { times: true });
  const isBefore = JSON.stringify(now) === JSON.stringify(outlook.timed);
  const isAfter = JSON.stringify(withoutTimes(now)) === JSON.stringify(outlook.after);
  if (!isBefore && !isAfter) wrong.push(`neither before nor after: ${JSON.stringify(now)}`);
  if (scenario.story !== "undo" && outlook.done && !isAfter) wrong.push("recorded as done, and taken back");
  if (scenario.story.startsWith("apply") && !outlook.done && !isBefore)
    wrong.push("not recorded, and not taken back");
  const names = Object.keys(now).filter((path) => path.includes(".sallyport-"));
  if (names.length > 0) wrong.push(`temporary files: ${names.join()}`);
  const left = await readdir(join(scenario.base, "state", "staging"));
  if (left.length > 0) wrong.push(`stagings: ${left.join()}`);
  const again = await (await openIn(scenario, () => undefined)).recover(async () => outlook.done);
  if (again.length > 0) wrong.push("recovery was not complete");
  const records = await readdir(join(scenario.base, "state", "undo"));
  if (records.some((name) => name.includes("undo"))) wrong.push(`records: ${records.join()}`);
  return wrong;
}

interface Tally {
  kills: number;
  before: number;
  after: number;
  takenBack: number;
}

/** One life, one or two deaths, and what a new process makes of it. */
async function oneTurn(
  scenario: Scenario,
  { random, cache, twice, what }: { random: () => number; cache: string; twice: boolean; what: string },
): Promise<Tally | undefined> {
  const outlook = await foresee(scenario);
  // Work that comes to nothing leaves nothing to undo.
  if (outlook.steps === 0) return undefined;
  await layOut(scenario);
  await prepare(scenario);
  const timed = await snapshot(join(scenario.base, "ws"), { times: true });
  // Every fourth dies near the end, where the outcome may be on record already.
  const isLate = random() < 0.25;
  const dieAt = Math.max(1, outlook.steps - Math.floor(random() * (isLate ? 3 : outlook.steps)));
  const where = `${what}, step ${dieAt} of ${outlook.steps}`;
  const death = await die({ scenario, dieAt }, cache);
  expect(death.signal, `${where} ${death.stderr}`).toBe("SIGKILL");
  const done = death.marks.includes("recorded");
  const second = twice
    ? await die({ scenario, recover: { done }, dieAt: 1 + Math.floor(random() * 6) }, cache)
    : undefined;
  if (second) expect(second.stderr, where).toBe("");
  const takenBack = await (await openIn(scenario, () => undefined)).recover(async () => done);
  expect(await examine(scenario, { ...outlook, timed, done }), where).toEqual([]);
  const isBefore =
    JSON.stringify(await snapshot(join(scenario.base, "ws"))) === JSON.stringify(outlook.before);
  const kills = second?.signal ? 2 : 1;
  return { kills, before: isBefore ? 1 : 0, after: isBefore ? 0 : 1, takenBack: takenBack.length };
}

describe("a process killed while it changes files", () => {
  it.concurrent.each(Array.from({ length: FAMILIES }, (_, family) => family))(
    "leaves all of a call's changes or none (family %i) [R1-7.2] [NFR-REL-04]",
    async (family) => {
      const random = seeded(SEED + family);
      const workloads = fc.sample(workload, { numRuns: KILLS, seed: SEED + family });
      const cache = await mkdtemp(join(tmpdir(), "sallyport-effects-cache-"));
      const total: Tally = { kills: 0, before: 0, after: 0, takenBack: 0 };
      try {
        // Where a kill lands is random: go on, within bounds, until both outcomes were seen.
        const isShort = () => total.kills < KILLS / FAMILIES || total.before === 0 || total.takenBack === 0;
        for (let turn = 0; isShort() && turn < 20 * KILLS; turn += 1) {
          const base = await mkdtemp(join(tmpdir(), "sallyport-effects-crash-"));
          const { tree, ops } = workloads[turn % workloads.length] ?? { tree: [], ops: [] };
          const story = STORIES[turn % STORIES.length] ?? "apply";
          const way = random() < 0.5 ? "copy" : "in process";
          const what = `seed ${SEED}, family ${family}, turn ${turn}: ${story} ${way}`;
          const how = { random, cache, twice: turn % 3 === 0, what };
          const tally = await oneTurn({ story, way, base, tree, ops }, how).finally(() => removeTree(base));
          for (const key of ["kills", "before", "after", "takenBack"] as const)
            total[key] += tally?.[key] ?? 0;
        }
      } finally {
        await rm(cache, { recursive: true });
      }
      console.log(`family ${family}: ${JSON.stringify(total)}`);
      expect(total.before).toBeGreaterThan(0);
      expect(total.takenBack).toBeGreaterThan(0);
    },
  );
});
