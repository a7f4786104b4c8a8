import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

const SOURCES = join(import.meta.dirname, "attacks");

/** Compiles the attack programs into a folder; static, so that they need nothing inside. */
export function buildAttacks(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const sources = readdirSync(SOURCES).filter((name) => name.endsWith(".c"));
  const flags = ["-static", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-pthread"];
  const program = join(folder, "attack");
  execFileSync(process.env.CC ?? "cc", [
    ...flags,
    ...sources.map((name) => join(SOURCES, name)),
    "-o",
    program,
  ]);
  chmodSync(program, 0o755);
}

/** What only root can make, and only a careless host would mount: device nodes and a setuid program. */
export function makeDevices(folder: string, programs: string): void {
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  const nodes = {
    mem: ["c", "1", "1"],
    kmsg: ["c", "1", "11"],
    zero: ["c", "1", "5"],
    disk: ["b", "254", "0"],
  };
  for (const [name, numbers] of Object.entries(nodes)) {
    execFileSync("mknod", ["-m", "0666", join(folder, name), ...numbers]);
  }
  copyFileSync(join(programs, "attack"), join(folder, "setuid-root"));
  chmodSync(join(folder, "setuid-root"), 0o6755);
}
