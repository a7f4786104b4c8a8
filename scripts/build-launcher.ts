import { spawnSync } from "node:child_process";
import { accessSync, constants, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { findLauncher, launcherPlace } from "../packages/adapters/src/sandbox/launcher/find-launcher.ts";
import {
  COMPILER_FLAGS,
  sourceFiles,
  sourceHash,
} from "../packages/adapters/src/sandbox/launcher/source-hash.ts";

/*
 * Compiles the sandbox launcher when it is missing or older than its sources. With --if-possible a host that cannot
 * (no compiler, not Linux) gets one line and no error: everything but real sandboxes works without it.
 */

const INSTALL = "apt-get install gcc libc6-dev";

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function findCompiler(): string | undefined {
  if (process.env.CC) return process.env.CC;
  return ["cc", "gcc", "clang"].map(onPath).find((path) => path !== undefined);
}

/** Built aside and moved into place, so that nobody runs half a program. Resolves to why it failed, if it did. */
function compile(compiler: string): string | undefined {
  const { sources, binary, stamp } = launcherPlace();
  const folder = dirname(binary);
  mkdirSync(folder, { recursive: true });
  const aside = mkdtempSync(join(folder, "new-"));
  try {
    const hash = sourceHash(sources);
    const files = sourceFiles(sources).filter((name) => name.endsWith(".c"));
    const output = join(aside, "launcher");
    const { status, error } = spawnSync(compiler, [...COMPILER_FLAGS, ...files, "-o", output], {
      cwd: sources,
      stdio: ["ignore", "inherit", "inherit"],
    });
    if (error) return `${compiler} cannot be run: ${error.message}`;
    if (status !== 0) return `${compiler} failed`;
    renameSync(output, binary);
    writeFileSync(join(aside, "stamp"), `${hash}\n`);
    renameSync(join(aside, "stamp"), stamp);
    return undefined;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function build(): { problem: string; fix: string } | undefined {
  if ("path" in findLauncher()) return undefined;
  if (process.platform !== "linux") return { problem: "it runs on Linux only", fix: "build on Linux" };
  const compiler = findCompiler();
  if (!compiler) return { problem: "no C compiler was found", fix: INSTALL };
  const problem = compile(compiler);
  if (problem !== undefined) return { problem, fix: INSTALL };
  console.log(`built ${launcherPlace().binary}`);
  return undefined;
}

const failed = build();
if (failed) {
  console.log(`The sandbox launcher was not built: ${failed.problem}. To fix: ${failed.fix}`);
  process.exitCode = process.argv.includes("--if-possible") ? 0 : 1;
}
