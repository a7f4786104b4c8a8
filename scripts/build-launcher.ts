import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { findLauncher, launcherPlace } from "../packages/adapters/src/sandbox/launcher/find-launcher.ts";
import { isExecutable } from "../packages/adapters/src/sandbox/launcher/is-executable.ts";
import {
  COMPILER_FLAGS,
  sourceFiles,
  sourceHash,
} from "../packages/adapters/src/sandbox/launcher/source-hash.ts";

/*
 * Compiles the sandbox launcher when it is missing or older than its sources. With --if-possible a host that cannot
 * (no compiler, not Linux) gets one line and no error: everything but real sandboxes works without it. With --verify it is
 * compiled once more: the program that goes into a package is, byte for byte, the one that its sources make here.
 */

const INSTALL = "apt-get install gcc libc6-dev";

function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function findCompiler(): string | undefined {
  if (process.env.CC) return process.env.CC;
  return ["cc", "gcc", "clang"].map(onPath).find((path) => path !== undefined);
}

/** What stands in the way, and what to do about it. `hopeless` here: the host is not made for it. */
interface Problem {
  problem: string;
  fix: string;
  hopeless: boolean;
}

function runCompiler(compiler: string, args: string[], options: { cwd: string; quiet: boolean }): boolean {
  const output = options.quiet ? "ignore" : "inherit";
  const { status } = spawnSync(compiler, args, { cwd: options.cwd, stdio: ["ignore", output, output] });
  return status === 0;
}

/** Tells a host without a usable compiler from sources that do not compile. */
function canCompile(compiler: string, folder: string): boolean {
  writeFileSync(
    join(folder, "empty.c"),
    "#include <stdio.h>\n#include <linux/seccomp.h>\nint main(void) { return 0; }\n",
  );
  return runCompiler(compiler, [...COMPILER_FLAGS, "empty.c", "-o", "empty"], { cwd: folder, quiet: true });
}

/** Built aside and moved into place, so that nobody runs half a program. */
function compile(compiler: string): Problem | undefined {
  const { sources, binary, stamp } = launcherPlace();
  const folder = dirname(binary);
  mkdirSync(folder, { recursive: true });
  const aside = mkdtempSync(join(folder, "new-"));
  try {
    const hash = sourceHash(sources);
    const files = sourceFiles(sources).filter((name) => name.endsWith(".c"));
    const output = join(aside, "launcher");
    if (!canCompile(compiler, aside)) {
      return { problem: `${compiler} cannot build static programs here`, fix: INSTALL, hopeless: true };
    }
    if (!runCompiler(compiler, [...COMPILER_FLAGS, ...files, "-o", output], { cwd: sources, quiet: false })) {
      return { problem: `${compiler} refused its sources`, fix: INSTALL, hopeless: false };
    }
    const program = readFileSync(output);
    const isThere = "path" in findLauncher();
    if (isThere && !program.equals(readFileSync(binary))) {
      return {
        problem: "its sources make another program than the one that is there",
        fix: "rm -r its folder build, then npm run launcher",
        hopeless: false,
      };
    }
    renameSync(output, binary);
    writeFileSync(join(aside, "stamp"), `${hash}\n${createHash("sha256").update(program).digest("hex")}\n`);
    renameSync(join(aside, "stamp"), stamp);
    return undefined;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function build(): Problem | undefined {
  if ("path" in findLauncher() && !process.argv.includes("--verify")) return undefined;
  if (process.platform !== "linux") {
    return { problem: "it runs on Linux only", fix: "build on Linux", hopeless: true };
  }
  const compiler = findCompiler();
  if (!compiler) return { problem: "no C compiler was found", fix: INSTALL, hopeless: true };
  const problem = compile(compiler);
  if (!problem) console.log(`built ${launcherPlace().binary}`);
  return problem;
}

const isInstall = process.argv.includes("--if-possible");
if (isInstall) console.log(`npm scripts and npx use Node ${process.versions.node} here, from node_modules.`);
const failed = build();
if (failed) {
  console.log(`The sandbox launcher was not built: ${failed.problem}. To fix: ${failed.fix}`);
  process.exitCode = failed.hopeless && isInstall ? 0 : 1;
}
