import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Racer } from "./sandbox-race.ts";

/** Somebody without rights: what a sandbox of a root host runs as. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

const PROFILE = [
  ...["--unshare-user", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"],
  ...["--clearenv", "--setenv", "PATH", "/usr/bin", "--ro-bind", "/usr", "/usr"],
  ...["--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"],
  ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--"],
];

/** No isolation at all: what starting a process costs here. */
export function bareSpawn(argv: readonly string[]): Racer {
  return { name: "bare spawn", run: () => succeed(argv, {}) };
}

/** bubblewrap by hand with all namespaces; no limits, no filter, no accounting, nobody who watches. */
export function plainBubblewrap(argv: readonly string[]): Racer {
  return { name: "plain bubblewrap", run: () => succeed(["bwrap", ...PROFILE, ...argv], NOBODY) };
}

export function isOnPath(program: string): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
}

export interface SpawnChoice {
  uid?: number;
  gid?: number;
  env?: NodeJS.ProcessEnv;
}

/** With pipes like a sandboxed process has, until the pipes are closed. Rejects unless it exits with 0. */
export function succeed([program = "", ...args]: readonly string[], choice: SpawnChoice): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "pipe", ...choice });
    let said = "";
    child.stdin.end();
    child.stdout.resume();
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${program} ended with ${code ?? signal}: ${said.trim()}`));
    });
  });
}
