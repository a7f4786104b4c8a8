import { execFileSync, spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { findLauncher, superviseArgv } from "../../sandbox/launcher/index.ts";
import { readUpperLine } from "../../sandbox/launcher/upper-entry.ts";
import type { ScanUpper } from "../index.ts";
import { checkWorkloads, type WorkloadEnd } from "./check-workload.ts";
import type { FileOp } from "./file-ops.ts";
import { type Workload, workload } from "./random-workload.ts";
import { shellScript } from "./shell-script.ts";
import { inCopy, type ViewWorker } from "./view-workers.ts";

/*
 * Random work on files by a user without any rights: started as root it becomes nobody before it does anything, with the
 * sources read and a copy of the launcher at hand, as both may be where nobody may look. Prints what went wrong as JSON.
 */

interface Orders {
  /** Where the launcher's copy goes; whoever gave the orders removes it. */
  folder: string;
  runs: number;
  batch: number;
  seed: number;
  /** Done instead of anything random. */
  fixed?: [Workload[], WorkloadEnd][];
}

const NOBODY = 65_534;
const ENDS: WorkloadEnd[] = ["keep", "keep", "rollback applied", "undo"];
const { folder, runs, batch, seed, fixed } = JSON.parse(process.argv[2] ?? "{}") as Orders;

/** A launcher that anybody may run. */
function sharedLauncher(folder: string): string {
  const found = findLauncher();
  if (!("path" in found)) throw new Error(`${found.missing}; run ${found.fix}`);
  const path = join(folder, "launcher");
  copyFileSync(found.path, path);
  chmodSync(path, 0o755);
  return path;
}

function becomeNobody(): void {
  process.chdir("/");
  if (process.getuid?.() !== 0) return;
  process.setgroups?.([NOBODY]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
}

const scanWith =
  (launcher: string): ScanUpper =>
  async (upper) =>
    execFileSync(launcher, ["scan", "--user-xattr", upper], { maxBuffer: 1e9 })
      .toString()
      .split("\n")
      .filter(Boolean)
      .map((line) => readUpperLine(Buffer.from(line)) ?? fail(line));

function fail(line: string): never {
  throw new Error(`not an entry: ${line}`);
}

const inUserOverlay = (launcher: string): ViewWorker => ({
  name: "overlay",
  view: "overlay",
  full: true,
  async work(staging, ops) {
    const view = await staging.view();
    if (view.kind !== "overlay") throw new Error("an overlay was asked for");
    const target = join(dirname(view.upper), "seen");
    mkdirSync(target);
    const script = join(dirname(view.upper), "script");
    writeFileSync(script, `cd '${target}'\n${shellScript(ops)}`);
    const overlay = { lower: view.root, upper: view.upper, work: view.work, target };
    const argv = superviseArgv({ launcher, backend: ["/bin/sh", script], overlay });
    await new Promise<void>((resolve, reject) => {
      const child = spawn(launcher, argv, { stdio: ["ignore", "ignore", "pipe", "pipe"] });
      let said = "";
      for (const stream of [child.stderr, child.stdio[3]])
        stream?.on("data", (chunk: Buffer) => {
          said += chunk.toString();
        });
      child.once("close", () =>
        /"how":"backend-failed","code":0,/.test(said) ? resolve() : reject(new Error(said)),
      );
    });
  },
});

async function inShell(root: string, ops: readonly FileOp[]): Promise<void> {
  execFileSync("/bin/sh", ["-s"], {
    cwd: root,
    input: shellScript(ops),
    stdio: ["pipe", "ignore", "ignore"],
  });
}

/** Without zero bytes, which no script can hold. */
function plain({ tree, ops }: Workload): Workload {
  const without = (op: FileOp) =>
    "content" in op ? { ...op, content: op.content.replaceAll("\0", "0") } : op;
  return { tree: tree.map(without), ops: ops.map(without) };
}

const launcher = sharedLauncher(folder);
const random = fc.sample(
  fc.tuple(fc.array(workload.map(plain), { minLength: batch, maxLength: batch }), fc.constantFrom(...ENDS)),
  { numRuns: Math.ceil(runs / batch), seed },
);
const batches = fixed ?? random;
becomeNobody();
const wrong: string[] = [];
let [refused, sequences] = [0, 0];
for (const [workloads, end] of batches) {
  for (const worker of [inUserOverlay(launcher), { ...inCopy, work: inCopyShell }]) {
    const options = { scan: scanWith(launcher) };
    const onRefusal = () => {
      refused += workloads.length;
    };
    const found = await checkWorkloads({ worker, workloads, end, perform: inShell, options, onRefusal });
    wrong.push(...found.map((one) => `${worker.name} ${end}: ${one} ${JSON.stringify(workloads)}`));
    sequences += workloads.length;
  }
}
console.log(JSON.stringify({ uid: process.getuid?.(), sequences, refused, wrong }));

async function inCopyShell(...[staging, ops]: Parameters<ViewWorker["work"]>): Promise<void> {
  const view = await staging.view();
  if (view.kind !== "copy") throw new Error("a copy was asked for");
  await inShell(view.copy, ops);
}
