import { constants, realpathSync, statSync } from "node:fs";
import { type FileHandle, lstat, open, readlink } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { type Failure, isFailure } from "@sallyport/protocol";
import { Anchor } from "../workspace/anchor.ts";
import { foldsCase } from "./case-folding.ts";
import { isSameFile, namesBelow, type Place, placeOf, type Root } from "./containment.ts";
import type { CheckedPath, PathSandbox, PathSandboxOptions } from "./contract.ts";
import { DEFAULT_DENIES } from "./default-denies.ts";
import { compileDenies, type DenyTest } from "./denies.ts";
import { badPath, badSandbox, changedSince, deniedPath, outside, unusable } from "./refusals.ts";
import { type Obstacle, resolveTarget, type Target } from "./resolve-target.ts";
import { shownPath } from "./shown-path.ts";
import { spellingRefusal } from "./spelling.ts";

/** Never through a link, never waiting for the other end of a pipe, never taking over a terminal. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
/** What a swapped folder, file or link answers with. */
const SWAPPED = ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"];
const FILES_ONLY = "Name a regular file.";

/**
 * Opens what was checked, for reading: checked again, reached folder by folder without following a link, and proven
 * after the open to be what stands at the checked path (FR-VAL-06). Nothing stays open when it refuses.
 */
async function openChecked(checked: CheckedPath, policy: PathPolicy): Promise<FileHandle | Failure> {
  const now = await recheck(checked, policy);
  if (isFailure(now)) return now;
  if (!now.exists) return unusable(now.asked, "does not exist", "Check the name.");
  if (now.type !== "file") return unusable(now.asked, `is ${kindOf(now)}`, FILES_ONLY);
  try {
    return await openAnchored(now, policy);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    if (code === undefined) throw error;
    if (SWAPPED.includes(code)) return changedSince(now.asked);
    return unusable(now.asked, `cannot be opened (${code})`, "Check its permissions.");
  }
}

function kindOf({ type }: CheckedPath): string {
  return type === "folder" ? "a folder" : "a pipe, a socket or a device";
}

async function openAnchored(now: CheckedPath, policy: PathPolicy): Promise<FileHandle | Failure> {
  const anchor = await Anchor.open(now.root);
  try {
    return await anchor.at(now.relative, async (safePath) => {
      // A device may do something when it is opened, so it is looked at first; the proof looks at what was opened.
      if (!(await lstat(safePath)).isFile()) return changedSince(now.asked);
      return proven(await open(safePath, FLAGS), now, policy);
    });
  } finally {
    await anchor.close();
  }
}

async function proven(
  handle: FileHandle,
  now: CheckedPath,
  policy: PathPolicy,
): Promise<FileHandle | Failure> {
  const byName = policy.roots.some(({ path, foldsCase }) => path === now.root && foldsCase);
  const same = await isSame(handle, { path: now.path, byName }).catch(() => false);
  if (same) return handle;
  await handle.close();
  return changedSince(now.asked);
}

/** Makes a sandbox of folders that exist. Throws E3919, with what to do, when one does not or a pattern is wrong. */
export function openPathSandbox(options: PathSandboxOptions): PathSandbox {
  const policy = compilePolicy(options);
  const rules = { allowAbsolute: options.allowAbsolute ?? false, windows: process.platform === "win32" };
  return {
    roots: policy.roots.map(({ path }) => path),
    cwd: policy.cwd,
    check: async (path) => spellingRefusal(path, rules) ?? judgePath(path, policy),
    checkedAgain: async (checked) => {
      const now = await recheck(checked, policy);
      return isFailure(now) ? now : undefined;
    },
    openChecked: (checked) => openChecked(checked, policy),
    deniedBy: policy.deniedBy,
  };
}

function compilePolicy(options: PathSandboxOptions): PathPolicy {
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

/** What a sandbox knows once it is open. */
interface PathPolicy {
  roots: readonly Root[];
  cwd: string;
  deniedBy: DenyTest;
}

/**
 * Resolve, canonicalise, rebuild, contain, deny: the rest of the order of FR-VAL-04, for a path whose spelling is in
 * order. What is in the way is told last, so that nothing about places outside is. Refusals speak of the path as it was
 * asked for.
 */
async function judgePath(path: string, policy: PathPolicy, asked = path): Promise<CheckedPath | Failure> {
  const absolute = resolve(policy.cwd, path);
  const target = await resolveTarget(absolute);
  const place = await placeOf(target.path, policy.roots);
  if (!place) return outside(asked, "leads outside the allowed folders", { resolved: target.path });
  // The name that was asked for counts as well: a link called `.ssh` is no way to make that name harmless.
  const pattern =
    policy.deniedBy(place.path) ?? (absolute === place.path ? undefined : policy.deniedBy(absolute));
  if (pattern !== undefined) return deniedPath(asked, pattern);
  return target.kind === "blocked" ? blocked(asked, target.by) : checkedPath(asked, place, target);
}

/** The same path judged anew: as it was checked, or the refusal. */
async function recheck(checked: CheckedPath, policy: PathPolicy): Promise<CheckedPath | Failure> {
  const now = await judgePath(checked.path, policy, checked.asked);
  if (isFailure(now)) return now;
  const same = now.path === checked.path && now.exists === checked.exists && now.type === checked.type;
  return same ? now : changedSince(checked.asked);
}

function checkedPath(asked: string, { path, root, relative }: Place, target: Target): CheckedPath {
  const found = { asked, path, root: root.path, relative };
  return target.kind === "there"
    ? { ...found, exists: true, type: target.type }
    : { ...found, exists: false };
}

function blocked(path: string, by: Obstacle): Failure {
  switch (by) {
    case "link":
      return outside(path, "goes through a link to nothing", { advice: "Name the file itself." });
    case "loop":
      return outside(path, "goes through links in a circle", { advice: "Name the file itself." });
    case "file":
      return unusable(path, "goes through a file as if it were a folder", "Check the names on the way.");
    case "length":
      return badPath(path, "is longer than the system allows", "Use a shorter path.");
    case "unknown":
      return unusable(path, "cannot be looked at", "Check the permissions of the folders on the way.");
  }
}

/** What an open file has to be. */
interface Expected {
  /** Canonical. */
  path: string;
  /** Where one file has several spellings, the system's name for it proves nothing. */
  byName: boolean;
}

/** Whether an open file is a regular one and stands at a path. Linux says where an open file is; else it is looked up. */
export async function isSame(handle: FileHandle, { path, byName }: Expected): Promise<boolean> {
  if (!(await handle.stat()).isFile()) return false;
  if (byName || process.platform !== "linux") return standsAt(handle, path);
  return (await readlink(`/proc/self/fd/${handle.fd}`)) === path;
}

/** By names and file numbers: every folder on the way a folder and no link, and the last name this very file. */
export async function standsAt(handle: FileHandle, path: string): Promise<boolean> {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder))
    if (!(await lstat(folder)).isDirectory()) return false;
  return isSameFile(await lstat(path, { bigint: true }), await handle.stat({ bigint: true }));
}
