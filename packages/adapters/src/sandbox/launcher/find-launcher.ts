import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isExecutable } from "./is-executable.ts";
import { sourceFiles, sourceHash } from "./source-hash.ts";

/** Where a launcher and what it is made of are kept. */
export interface LauncherPlace {
  sources: string;
  binary: string;
  /** The hash of the sources the binary was built from. */
  stamp: string;
}

/** The launcher, or why there is none and the command that helps. */
export type FoundLauncher = { path: string } | { missing: string; fix: string };

const REBUILD = "npm run launcher";

/** The place of the launcher for this platform. Says nothing about whether it is there. */
export function launcherPlace(): LauncherPlace {
  const sources = fileURLToPath(new URL("../../../native", import.meta.url));
  const folder = join(sources, "build", `${process.platform}-${process.arch}`);
  return {
    sources,
    binary: join(folder, "sallyport-launcher"),
    stamp: join(folder, "sallyport-launcher.sha256"),
  };
}

/** Launchers that were compared with their sources: once per process, as reading them takes the event loop's time. */
const FRESH = new Set<string>();

/** Looks for a launcher that can be run and was built from the sources beside it. Never throws. */
export function findLauncher(place: LauncherPlace = launcherPlace()): FoundLauncher {
  if (process.platform !== "linux") {
    return {
      missing: "the sandbox launcher runs on Linux only",
      fix: "run Sallyport on Linux, or in a Linux VM",
    };
  }
  if (!isExecutable(place.binary)) return { missing: "the sandbox launcher is not built", fix: REBUILD };
  if (!FRESH.has(place.binary) && isStale(place))
    return { missing: "the sandbox launcher is older than its sources", fix: REBUILD };
  FRESH.add(place.binary);
  return { path: place.binary };
}

/** True when the sources are there and are not those the binary was built from. */
export function isStale({ sources, stamp }: LauncherPlace): boolean {
  if (!existsSync(sources) || sourceFiles(sources).length === 0) return false;
  return !existsSync(stamp) || readFileSync(stamp, "utf8").trim() !== sourceHash(sources);
}
