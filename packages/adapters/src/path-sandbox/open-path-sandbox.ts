import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { isFailure } from "@sallyport/protocol";
import { foldsCase } from "./case-folding.ts";
import { type House, judgePath, recheck } from "./check.ts";
import { namesBelow, type Root } from "./containment.ts";
import type { PathSandbox, PathSandboxOptions } from "./contract.ts";
import { DEFAULT_DENIES } from "./default-denies.ts";
import { compileDenies } from "./denies.ts";
import { openChecked } from "./open-checked.ts";
import { badSandbox } from "./refusals.ts";
import { shownPath } from "./shown-path.ts";
import { spellingRefusal } from "./spelling.ts";

/** Makes a sandbox of folders that exist. Throws E3919, with what to do, when one does not or a pattern is wrong. */
export function openPathSandbox(options: PathSandboxOptions): PathSandbox {
  const house = furnish(options);
  const rules = { allowAbsolute: options.allowAbsolute ?? false, windows: process.platform === "win32" };
  return {
    roots: house.roots.map(({ path }) => path),
    cwd: house.cwd,
    check: async (path) => spellingRefusal(path, rules) ?? judgePath(path, house),
    checkedAgain: async (checked) => {
      const now = await recheck(checked, house);
      return isFailure(now) ? now : undefined;
    },
    openChecked: (checked) => openChecked(checked, house),
    deniedBy: house.deniedBy,
  };
}

function furnish(options: PathSandboxOptions): House {
  if (options.roots.length === 0)
    throw badSandbox("The path sandbox has no allowed folder.", "Name at least one in allowed_roots.");
  const roots = readRoots(options);
  const paths = roots.map(({ path }) => path);
  const defaults = (options.includeDefaultDenies ?? true) ? DEFAULT_DENIES : [];
  const deniedBy = compileDenies([...defaults, ...(options.deniedPatterns ?? [])], paths);
  for (const path of paths) requireAllowed(path, deniedBy(path));
  const cwd = options.cwd === undefined ? (paths[0] ?? "") : readFolder(options.cwd, "working folder");
  if (!paths.some((path) => namesBelow(cwd, path)))
    throw badSandbox(
      `The working folder ${shownPath(cwd)} is in no allowed folder.`,
      "Choose one inside allowed_roots.",
    );
  requireAllowed(cwd, deniedBy(cwd));
  return { roots, cwd, deniedBy };
}

function readRoots({ roots, caseInsensitive = "detect" }: PathSandboxOptions): Root[] {
  const paths = new Set(roots.map((root) => readFolder(root, "allowed folder")));
  return [...paths].map((path) => ({
    path,
    foldsCase: caseInsensitive === "detect" ? foldsCase(path) : caseInsensitive,
  }));
}

function readFolder(given: string, what: string): string {
  const advice = "Create it, or correct its path in the configuration.";
  if (given.trim() === "" || given.includes("\0")) throw badSandbox(`The ${what} has no path.`, advice);
  try {
    const path = realpathSync.native(resolve(given));
    if (statSync(path).isDirectory()) return path;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw badSandbox(`The ${what} ${shownPath(given)} cannot be used (${code}).`, advice);
  }
  throw badSandbox(`The ${what} ${shownPath(given)} is not a folder.`, advice);
}

/** A root that is denied as a whole would refuse every path with a riddle. */
function requireAllowed(path: string, pattern: string | undefined): void {
  if (pattern === undefined) return;
  throw badSandbox(
    `The folder ${shownPath(path)} is itself denied by the pattern ${shownPath(pattern)}, so nothing in it could be used.`,
    "Choose another folder or take the pattern out.",
  );
}
