import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { LifePlan, LifeReport } from "./protocol.ts";

const REPOSITORY = fileURLToPath(new URL("../../", import.meta.url));
const LIFE = "test/soak/life.ts";
/** Memory is looked at, which Node calls experimental. */
const NODE_OPTIONS = ["--expose-gc", "--disable-warning=ExperimentalWarning"];
const NOBODY = 65_534;

export interface StartedLife {
  child: ChildProcess;
  pid: number;
  /** Each report as it comes; ends with the process. */
  reports: AsyncIterable<LifeReport>;
  /** Resolves with what it said on stderr, when it is gone. */
  gone: Promise<string>;
}

/** A folder for a life, short enough for sockets below it. */
export function makeFolder(who: Who): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sp-soak-")));
  // As with the system's own: the users of a root host's sandboxes have to pass.
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "own"));
  mkdirSync(join(folder, "repository"));
  if (who === "nobody") for (const path of [folder, join(folder, "own")]) chownSync(path, NOBODY, NOBODY);
  return folder;
}

export type Who = "self" | "nobody";

/** Starts a life with everything it makes below its folder, temporary files included. */
export function startLife(who: Who, folder: string, plan: Omit<LifePlan, "folder">): StartedLife {
  const whole: LifePlan = { ...plan, folder: join(folder, "own") };
  const [program, ...args] = who === "self" ? asSelf(whole) : asNobody(folder, whole);
  const child = spawn(program ?? "", args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH, TMPDIR: whole.folder },
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const gone = new Promise<string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(said));
  });
  return { child, pid: child.pid ?? -1, reports: reportsOf(child), gone };
}

async function* reportsOf({ stdout }: ChildProcess): AsyncIterable<LifeReport> {
  if (!stdout) return;
  for await (const line of createInterface({ input: stdout })) yield JSON.parse(line) as LifeReport;
}

function asSelf(plan: LifePlan): string[] {
  return [process.execPath, ...NODE_OPTIONS, join(REPOSITORY, LIFE), JSON.stringify(plan)];
}

/**
 * As somebody without rights, who may not even be able to enter the folder that this repository is in: so it is mounted
 * where he can, for him alone. The same process all the way, so that its number is the child's.
 */
function asNobody(folder: string, plan: LifePlan): string[] {
  const repository = join(folder, "repository");
  const node = join(repository, "node_modules/node/bin/node");
  const script = `mount --bind "$1" "$2" && shift 2 && exec setpriv "$@"`;
  return [
    ...[
      "unshare",
      "--mount",
      "--propagation",
      "private",
      "--",
      "sh",
      "-c",
      script,
      "sh",
      REPOSITORY,
      repository,
    ],
    ...["--reuid", `${NOBODY}`, "--regid", `${NOBODY}`, "--clear-groups", "--"],
    ...[node, ...NODE_OPTIONS, join(repository, LIFE), JSON.stringify(plan)],
  ];
}
