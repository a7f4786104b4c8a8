import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Sandbox, SandboxOrder } from "@sallyport/engine/ports";
import { createSandbox, DEFAULT_USER } from "../../packages/adapters/src/sandbox/index.ts";
import type { Attempt } from "./attempt.ts";
import { CORPUS } from "./attempts/index.ts";
import { type HostCanaries, SHARED_FILE, startCanaries } from "./host-canaries.ts";
import { changesBetween, hostState, processesWith } from "./host-state.ts";
import { describe, judge, refusalCodes } from "./judge.ts";
import { makeOrder } from "./make-order.ts";
import { type AttemptResult, isWanted, type PassOrder, type PassResult } from "./pass-words.ts";
import { placesOf } from "./places-of.ts";
import { harmTo, makeSite, stillWriting } from "./site.ts";
import { type Ran, startBare } from "./start-bare.ts";

/*
 * Runs the corpus against one backend, as the user this process has, and prints what became of it as JSON. A process of
 * its own, because it must be able to be unprivileged from the start, and because it carries secrets itself: in its
 * environment, in its arguments and as open files.
 */

const AT_ONCE = 6;

interface Pass extends PassOrder {
  /** Undefined when nothing is to hold the attacks. */
  sandbox: Sandbox | undefined;
  canaries: HostCanaries;
  user: { uid: number; gid: number };
  /** Its processes carry it. */
  mark: string;
}

async function main(order: PassOrder): Promise<PassResult> {
  const before = hostState();
  const user =
    process.getuid?.() === 0 ? DEFAULT_USER : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const canaries = await startCanaries({ ...order, secret: join(order.folder, "secret.txt"), user });
  try {
    const sandbox = openSandbox(order);
    const pass: Pass = { ...order, sandbox, canaries, user, mark: `sallyport-escape-${process.pid}-mark` };
    const results = await inTurns(
      CORPUS.filter((one) => isWanted(one, order)),
      pass,
    );
    await sandbox?.close();
    const trouble = [canaries.processTrouble() ?? [], canaries.visits, processesWith(pass.mark)].flat();
    await canaries.close();
    return {
      results,
      hostHarm: [...trouble, ...changesBetween(before, hostState()), ...leftovers(order.folder)],
    };
  } finally {
    rmSync(SHARED_FILE);
  }
}

function openSandbox({ backend, ociRuntime, folder }: PassOrder): Sandbox | undefined {
  if (backend === "none") return undefined;
  return createSandbox({
    runtimeFolder: join(folder, "run"),
    backends: [backend],
    ...(ociRuntime !== undefined && { ociRuntime }),
  });
}

async function inTurns(attempts: readonly Attempt[], pass: Pass): Promise<AttemptResult[]> {
  const results: AttemptResult[] = [];
  const waiting = attempts.entries();
  const lane = async (): Promise<void> => {
    for (const [number, attempt] of waiting) results[number] = await tryOne(attempt, number, pass);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return results;
}

async function tryOne(attempt: Attempt, number: number, pass: Pass): Promise<AttemptResult> {
  const folder = join(pass.folder, "sites", String(number));
  const site = await makeSite({ folder, attempt, token: pass.token, user: pass.user });
  const mark = `${pass.mark}-${number}-`;
  const order = makeOrder({
    ...{ id: `escape-${number}`, attempt, site, mark, nested: pass.nested },
    places: placesOf(site, pass),
    extra: { sockets: pass.canaries.socketsFolder, devices: pass.devices },
  });
  const startedAt = performance.now();
  const { stdout, stderr, end, runner } = await run(order, pass);
  const wallMs = Math.round(performance.now() - startedAt);
  const harm = [...processesWith(mark), ...(await stillWriting(site)), ...(await harmTo(site, pass.user))];
  const problems = judge({ attempt, end, stdout, stderr, token: pass.token, harm });
  if (runner !== pass.runner) problems.push(`it ran in ${runner}`);
  return {
    ...{ family: attempt.family, name: attempt.name, problems, wallMs },
    ending: describe(end),
    usage: { cpuMs: end.usage.cpuMs, memoryPeakBytes: end.usage.memoryPeakBytes },
    refusedBy: [...new Set(refusalCodes(stdout))],
    ...(problems.length > 0 && { stdout: stdout.slice(0, 2000), stderr: stderr.slice(0, 2000) }),
  };
}

async function run(order: SandboxOrder, { sandbox, user }: Pass): Promise<Ran> {
  if (sandbox === undefined) return startBare(order, process.getuid?.() === 0 ? user : undefined);
  const started = await sandbox.start(order);
  started.stdin.end();
  const [stdout, stderr, end] = await Promise.all([
    text(started.stdout),
    text(started.stderr),
    started.ended,
  ]);
  const { level, runner } = started.isolation;
  return { stdout, stderr, end, runner: level === "LEVEL_2" ? runner : `${level} of ${runner}` };
}

/** Whatever the sandbox has left in its own folders. */
function leftovers(folder: string): string[] {
  const places = { "runtime folder": join(folder, "run"), "temporary folder": join(folder, "tmp") };
  return Object.entries(places).flatMap(([name, path]) =>
    readdirSync(path).map((entry) => `${entry} is left in the ${name}`),
  );
}

const order = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as PassOrder;
process.stdout.write(JSON.stringify(await main(order)));
