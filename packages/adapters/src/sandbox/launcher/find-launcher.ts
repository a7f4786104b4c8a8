import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { isExecutable } from "./is-executable.ts";
import { sourceFiles, sourceHash } from "./source-hash.ts";

/** Where a launcher and what it is made of are kept. */
export interface LauncherPlace {
  sources: string;
  binary: string;
  /** Two lines: the hash of the sources the binary was built from, and its own. */
  stamp: string;
}

/** The launcher, or why there is none and the command that helps. */
export type FoundLauncher = { path: string } | { missing: string; fix: string };

const REBUILD = "npm run launcher";
const REINSTALL = "install packages that were made on a host like this one (`npm run pack` in a clone)";

/** In a clone the launcher was built here; in an installed package it came along. */
function isInstalled({ sources }: LauncherPlace): boolean {
  return sources.split(sep).includes("node_modules");
}

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
  const fix = isInstalled(place) ? REINSTALL : REBUILD;
  if (!isExecutable(place.binary)) {
    return { missing: `there is no sandbox launcher for ${process.platform} ${process.arch}`, fix };
  }
  if (FRESH.has(place.binary)) return { path: place.binary };
  if (isStale(place)) return { missing: "the sandbox launcher is older than its sources", fix };
  if (isDamaged(place)) return { missing: "the sandbox launcher is not the program that was built", fix };
  FRESH.add(place.binary);
  return { path: place.binary };
}

/** True when the sources are there and are not those the binary was built from. */
export function isStale({ sources, stamp }: LauncherPlace): boolean {
  if (!existsSync(sources) || sourceFiles(sources).length === 0) return false;
  return stampOf(stamp)[0] !== sourceHash(sources);
}

/** True when the binary is not the one that was stamped. In an installed package a stamp without a digest is no stamp. */
function isDamaged(place: LauncherPlace): boolean {
  const [, digest] = stampOf(place.stamp);
  if (digest === undefined) return isInstalled(place);
  return digest !== createHash("sha256").update(readFileSync(place.binary)).digest("hex");
}

function stampOf(path: string): string[] {
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
}
