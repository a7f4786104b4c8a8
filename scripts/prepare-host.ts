import { spawnSync } from "node:child_process";
import { globSync } from "node:fs";
import { delimiter, join } from "node:path";
import { isExecutable } from "../packages/adapters/src/sandbox/launcher/is-executable.ts";

/*
 * The system programs that tests and the real servers they start need. In CI (SALLYPORT_REQUIRE_SERVICES) what is missing is installed from
 * Debian's packages, and what cannot be had is an error; on a laptop it is named, and the tests that need it say that
 * they are skipped.
 */

const PROGRAMS: Readonly<Record<string, string>> = {
  bwrap: "bubblewrap",
  crun: "crun",
  go: "golang-go",
  cc: "gcc libc6-dev",
  python3: "python3",
  pip3: "python3-pip",
  curl: "curl",
  git: "git",
  tmux: "tmux",
  make: "make",
  java: "openjdk-17-jre-headless",
  mvn: "maven",
  kcat: "kcat",
  "redis-server": "redis-server",
  "/usr/lib/postgresql/*/bin/initdb": "postgresql",
  "/usr/include/postgresql/*/server/postgres.h": "postgresql-server-dev-all",
};

/** A program on the path, or a file by its pattern. */
function isThere(wanted: string): boolean {
  return wanted.startsWith("/") ? globSync(wanted).length > 0 : isOnPath(wanted);
}

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => isExecutable(join(folder, program)));
}

function run(command: string, args: string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return spawnSync(command, args, { stdio: "inherit", env }).status === 0;
}

function missing(): string[] {
  return Object.keys(PROGRAMS).filter((program) => !isThere(program));
}

const isRequired = process.env.SALLYPORT_REQUIRE_SERVICES === "1";
const lacking = missing();
if (process.platform === "linux" && lacking.length > 0) {
  const packages = lacking.flatMap((program) => (PROGRAMS[program] ?? "").split(" "));
  const command = `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
  if (!isRequired) console.log(`Missing for some tests: ${lacking.join(", ")}. To get them: ${command}`);
  else {
    run("apt-get", ["update", "-qq"]);
    run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages]);
    const still = missing();
    if (still.length > 0) console.error(`Could not be installed: ${still.join(", ")}. Tried: ${command}`);
    process.exitCode = still.length > 0 ? 1 : 0;
  }
}
if (process.exitCode !== 1) {
  const built = run(process.execPath, [
    "scripts/build-launcher.ts",
    ...(isRequired ? [] : ["--if-possible"]),
  ]);
  const fetched = !isRequired || run(process.execPath, ["scripts/services.ts"]);
  process.exitCode = built && fetched ? 0 : 1;
}
