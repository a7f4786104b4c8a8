import { once } from "node:events";
import { writeSync } from "node:fs";
import { BOUNDS } from "../bench/sandbox-orders.ts";
import { type Ground, openGround } from "./ground.ts";
import { type Memory, readMemory } from "./memory.ts";
import { KINDS, TURN } from "./mix.ts";
import type { LifePlan, LifeReport } from "./protocol.ts";
import { readAtRest } from "./readings.ts";

/* A process that does nothing but run sandboxes, looks at itself before and after, and says what it found. */

const plan = JSON.parse(process.argv[2] ?? "{}") as LifePlan;
const TENTHS = 10;
const MOST_WRONG = 10;

function say(report: LifeReport): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

class Tally {
  readonly kinds: Record<string, number> = {};
  readonly wrong: string[] = [];
  runs = 0;

  async run(name: string, ground: Ground): Promise<void> {
    this.runs += 1;
    this.kinds[name] = (this.kinds[name] ?? 0) + 1;
    try {
      await KINDS[name]?.run(ground);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (this.wrong.length < MOST_WRONG) this.wrong.push(`${name}: ${message}`);
    }
  }
}

/** So many runs, from where the turn stands, some at once. */
async function runMany(ground: Ground, tally: Tally, runs: number): Promise<void> {
  const last = tally.runs + runs;
  const runner = async () => {
    while (tally.runs < last) await tally.run(TURN[tally.runs % TURN.length] ?? "", ground);
  };
  await Promise.all(Array.from({ length: plan.atOnce }, runner));
}

/** Nothing waits in the pool, nothing is kept for undo. */
async function comeToRest({ warm, workspaces }: Ground): Promise<void> {
  await warm.retire("bench.sum");
  await workspaces.expire();
}

/** At least one turn, after which it looks at itself for the first time. */
async function liveOnce(runs: number) {
  const ground = await openGround(plan.folder);
  const tally = new Tally();
  await runMany(ground, tally, TURN.length);
  await comeToRest(ground);
  const before = await readAtRest(plan.folder);
  const memory: Memory[] = [];
  for (let tenth = 1; tenth <= TENTHS && runs > tally.runs; tenth += 1) {
    const share = (runs - tally.runs) / (TENTHS - tenth + 1);
    await runMany(ground, tally, Math.ceil(share));
    memory.push(readMemory());
  }
  await comeToRest(ground);
  const after = await readAtRest(plan.folder);
  await ground.close();
  return { tally, rest: { before, after }, memory };
}

async function liveTwice(): Promise<void> {
  // Once without looking: what Node and the kernel make on first use is no leak.
  const first = await liveOnce(0);
  const before = await readAtRest(plan.folder);
  const { tally, rest, memory } = await liveOnce(plan.runs - first.tally.runs);
  const after = await readAtRest(plan.folder);
  say({
    report: "done",
    uid: process.getuid?.() ?? -1,
    runs: first.tally.runs + tally.runs,
    kinds: tally.kinds,
    wrong: [...first.tally.wrong, ...tally.wrong],
    rest,
    closed: { before, after },
    memory,
  });
}

/** One of everything that leaves a trace while it runs. */
async function hold(): Promise<void> {
  const ground = await openGround(plan.folder);
  const rules = { root: ground.root, writable: true, denied: [] };
  const staging = ground.workspaces.begin({ callId: "held", rules, maxBytes: 1_000_000 });
  const held = await ground.sandbox.start({
    ...BOUNDS,
    id: "held",
    argv: ["/bin/sh", "-c", "echo here; exec sleep 600"],
    env: {},
    workspace: await staging.view(),
    egress: [{ host: "localhost", port: ground.port, allowPrivate: true }],
    limits: { ...BOUNDS.limits, wallMs: 600_000 },
  });
  await once(held.stdout, "data");
  say({ report: "holding" });
  process.stdin.resume();
  await once(process.stdin, "end");
  held.kill();
  await held.ended;
  await staging.rollback();
  await ground.close();
}

/** Does no more than to start after another and to end in good order. */
async function touch(): Promise<void> {
  const ground = await openGround(plan.folder);
  const tally = new Tally();
  for (const name of ["does well", "as a plain process", "changes files, rolled back"])
    await tally.run(name, ground);
  await ground.close();
  say({ report: "touched", wrong: tally.wrong });
}

const ENDS: Record<LifePlan["end"], () => Promise<void>> = { close: liveTwice, hold, touch };
await ENDS[plan.end]();
