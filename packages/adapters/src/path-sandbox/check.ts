import { resolve } from "node:path";
import { type Failure, isFailure } from "@sallyport/protocol";
import { type Place, placeOf, type Root } from "./containment.ts";
import type { CheckedPath } from "./contract.ts";
import type { DenyTest } from "./denies.ts";
import { badPath, changedSince, deniedPath, outside, unusable } from "./refusals.ts";
import { type Obstacle, resolveTarget, type Target } from "./resolve-target.ts";

/** What a sandbox knows once it is open. */
export interface House {
  roots: readonly Root[];
  cwd: string;
  deniedBy: DenyTest;
}

/**
 * Resolve, canonicalise, rebuild, contain, deny: the rest of the order of FR-VAL-04, for a path whose spelling is in
 * order. What is in the way is told last, so that nothing about places outside is. Refusals speak of the path as it was
 * asked for.
 */
export async function judgePath(path: string, house: House, asked = path): Promise<CheckedPath | Failure> {
  const absolute = resolve(house.cwd, path);
  const target = await resolveTarget(absolute);
  const place = await placeOf(target.path, house.roots);
  if (!place) return outside(asked, "leads outside the allowed folders", { resolved: target.path });
  // The name that was asked for counts as well: a link called `.ssh` is no way to make that name harmless.
  const pattern =
    house.deniedBy(place.path) ?? (absolute === place.path ? undefined : house.deniedBy(absolute));
  if (pattern !== undefined) return deniedPath(asked, pattern);
  return target.kind === "blocked" ? blocked(asked, target.by) : checkedPath(asked, place, target);
}

/** The same path judged anew: as it was checked, or the refusal. */
export async function recheck(checked: CheckedPath, house: House): Promise<CheckedPath | Failure> {
  const now = await judgePath(checked.path, house, checked.asked);
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
