import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createSandbox } from "@sallyport/adapters/sandbox";
import { afterEach, describe, expect, it } from "vitest";
import { countOf } from "../counts.ts";
import { growthOf, inWords, type Memory } from "./memory.ts";
import { KINDS, TURN } from "./mix.ts";
import type { LifePlan, LifeReport } from "./protocol.ts";
import { filesIn } from "./readings.ts";
import { makeFolder, type StartedLife, startLife, type Who } from "./start-life.ts";
import { type Traces, tracesOf } from "./traces.ts";

const RUNS = countOf("SALLYPORT_SANDBOX_RUNS");
const AT_ONCE = 4;
const IS_ROOT = process.getuid?.() === 0;
/** A root host has somebody without rights do a part of it. */
const SHARES: readonly [Who, number][] = IS_ROOT
  ? [
      ["self", 0.7],
      ["nobody", 0.3],
    ]
  : [["self", 1]];
const LONGEST_MS = 300_000 + RUNS * 2_000;
/** What is alive stays the same; how much of the machine's memory Node keeps for it moves with its own habits. */
const MOST_GROWTH: Memory = { heap: 1.1, resident: 1.2 };

const NO_TRACES: Traces = { processes: [], namespaces: [], mounts: [], cgroups: [], sockets: [] };

/** What was there before the first run, and is to be there after the last one. */
const LEFT = [
  ...["run", "state", "state/held", "state/id.json", "state/staging", "state/undo"],
  ...["workspace", "workspace/one", "workspace/three", "workspace/two"],
];

async function findSandbox(): Promise<boolean> {
  const runtimeFolder = mkdtempSync(join(tmpdir(), "sp-soak-"));
  const sandbox = createSandbox({ runtimeFolder, backends: ["bubblewrap"] });
  const [offer] = await sandbox.offers();
  await sandbox.close();
  rmSync(runtimeFolder, { recursive: true });
  if (offer?.available) return true;
  const why = `no LEVEL_2 sandbox here: ${offer?.missing.join(", ")}`;
  if (process.env.CI || process.env.SALLYPORT_REQUIRE_SERVICES) throw new Error(why);
  console.warn(`skipped, ${why}`);
  return false;
}

const folders: string[] = [];
const lives: StartedLife[] = [];

afterEach(async () => {
  for (const { child } of lives.splice(0)) child.kill("SIGKILL");
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

interface Lived extends StartedLife {
  folder: string;
}

function live(who: Who, plan: Omit<LifePlan, "folder">, folder = makeFolder(who)): Lived {
  const life = { ...startLife(who, folder, plan), folder };
  folders.push(folder);
  lives.push(life);
  return life;
}

/** The next thing it says; what it said on stderr when it ended instead. */
async function nextReport({ reports, gone }: StartedLife): Promise<LifeReport> {
  for await (const report of reports) return report;
  throw new Error(`the process ended: ${await gone}`);
}

describe.skipIf(!(await findSandbox())).each(SHARES)("sandboxes of a host that runs as %s", (who, share) => {
  it("leave no process, mount, namespace, cgroup, file, socket or descriptor behind, and memory is flat [FR-EXE-05]", {
    timeout: LONGEST_MS,
  }, async () => {
    const runs = Math.max(3 * TURN.length, Math.round(RUNS * share));
    const life = live(who, { runs, atOnce: AT_ONCE, end: "close" });
    const report = await nextReport(life);
    expect(await life.gone).toBe("");
    if (report.report !== "done") throw new Error(`it said ${report.report}`);
    expect(report.wrong).toEqual([]);
    expect(report.runs).toBeGreaterThanOrEqual(runs);
    expect(Object.keys(report.kinds).sort()).toEqual(Object.keys(KINDS).sort());
    expect(report.uid === 0).toBe(IS_ROOT && who === "self");
    expect(report.rest.after).toEqual(report.rest.before);
    expect(report.closed.after).toEqual(report.closed.before);
    expect(report.closed.after.children).toEqual([]);
    expect(tracesOf(life.folder, life.pid)).toEqual(NO_TRACES);
    expect(filesIn(join(life.folder, "own"))).toEqual(LEFT);
    console.log(`${report.runs} runs as ${who}: ${inWords(report.memory)}`);
    const { heap, resident } = growthOf(report.memory);
    expect(heap).toBeLessThan(MOST_GROWTH.heap);
    expect(resident).toBeLessThan(MOST_GROWTH.resident);
  });

  it("are seen by these very checks while one runs, and leave nothing when it ends", async () => {
    const life = live(who, { runs: 0, atOnce: 1, end: "hold" });
    expect(await nextReport(life)).toEqual({ report: "holding" });
    const seen = tracesOf(life.folder, life.pid);
    expect(seen.processes.some((line) => line.endsWith("sleep 600"))).toBe(true);
    expect(seen.namespaces.map((name) => name.split(":")[0])).toEqual(
      expect.arrayContaining(["ipc", "mnt", "net", "pid", "user", "uts"]),
    );
    expect(seen.sockets).not.toEqual([]);
    if (IS_ROOT && who === "self") expect(seen.cgroups).not.toEqual([]);
    expect(filesIn(join(life.folder, "own"))).not.toEqual(LEFT);
    life.child.stdin?.end();
    expect(await life.gone).toBe("");
    expect(tracesOf(life.folder, life.pid)).toEqual(NO_TRACES);
    expect(filesIn(join(life.folder, "own"))).toEqual(LEFT);
  });

  it("die with a host that is killed, and the next host sweeps what it left", async () => {
    const life = live(who, { runs: 0, atOnce: 1, end: "hold" });
    expect(await nextReport(life)).toEqual({ report: "holding" });
    life.child.kill("SIGKILL");
    await life.gone;
    for (let tries = 0; tries < 600 && tracesOf(life.folder, life.pid).processes.length > 0; tries += 1)
      await pause(100);
    const { processes, namespaces, mounts } = tracesOf(life.folder, life.pid);
    expect({ processes, namespaces, mounts }).toEqual({ processes: [], namespaces: [], mounts: [] });
    const next = live(who, { runs: 0, atOnce: 1, end: "touch" }, life.folder);
    expect(await nextReport(next)).toEqual({ report: "touched", wrong: [] });
    expect(await next.gone).toBe("");
    expect(tracesOf(life.folder, life.pid)).toEqual(NO_TRACES);
    expect(filesIn(join(life.folder, "own"))).toEqual(LEFT);
  });
});
