import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findProgram } from "../host/find-program.ts";
import type { Backend, BackendLook } from "../run/backend.ts";
import { bubblewrapArgv } from "./argv.ts";
import { nestedArgv } from "./nested-argv.ts";

const run = promisify(execFile);

/** Namespaces by bubblewrap: needs no privilege, no daemon and no files of its own. */
export function bubblewrapBackend(): Backend {
  const program = findProgram("bwrap") ?? "bwrap";
  return {
    name: "bubblewrap",
    level: "LEVEL_2",
    canNotify: true,
    look: () => lookAtBubblewrap(),
    command: async ({ plan, bounds }, { system, folders }) => {
      if (bounds === undefined) return { argv: [program, ...bubblewrapArgv(plan)] };
      return {
        argv: [program, ...nestedArgv({ bubblewrap: program, system, bounds, own: folders.all }, plan)],
      };
    },
  };
}

async function lookAtBubblewrap(): Promise<BackendLook> {
  const program = findProgram("bwrap");
  if (program === undefined) {
    const fix = ["apt-get install bubblewrap", "dnf install bubblewrap", "apk add bubblewrap"];
    return { missing: ["bubblewrap (bwrap) is not installed"], fix, facts: {} };
  }
  const { stdout } = await run(program, ["--version"], { env: {} });
  return { missing: [], fix: [], facts: { program, version: stdout.trim() } };
}
