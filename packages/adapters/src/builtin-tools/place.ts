import { relative, sep } from "node:path";
import { ToolFailure } from "@sallyport/engine/tool";
import { isFailure } from "@sallyport/protocol";
import type { CheckedPath } from "../path-sandbox/index.ts";
import { deniedPath } from "../path-sandbox/refusals.ts";
import { pathRefused } from "./problems.ts";
import type { ToolMeans } from "./tool-means.ts";

/** A path that may be touched. */
export interface Place {
  /** As the caller wrote it; all messages speak of it so. */
  asked: string;
  /** Canonical, absolute. */
  path: string;
  /** The same from the workspace on, with `/` between its parts; `.` for the workspace itself. */
  relative: string;
  /** What the sandbox said. */
  checked: CheckedPath;
}

/** Asks the sandbox about a path. Throws what it says (E3901, E3955, E3956). */
export async function placeOf(asked: string, { sandbox, root, offLimits }: ToolMeans): Promise<Place> {
  const checked = await sandbox.check(asked);
  if (isFailure(checked)) throw pathRefused(checked);
  const inside = relative(root, checked.path).split(sep).join("/");
  if (inside === ".." || inside.startsWith("../") || inside.startsWith("/"))
    throw new ToolFailure("E3955", `${asked} is outside the workspace`, {
      attempted: asked,
      resolved: checked.path,
    });
  const pattern = offLimits(inside);
  if (pattern !== undefined) throw pathRefused(deniedPath(asked, pattern));
  return { asked, path: checked.path, relative: inside === "" ? "." : inside, checked };
}

/**
 * Asks again, once a place has been used: whoever puts a link into the way after the check must not lead a call to what
 * it may not touch (FR-VAL-06). Throws, and what the call did so far is dropped with it.
 */
export async function confirmPlaces(places: Iterable<Place>, { sandbox }: ToolMeans): Promise<void> {
  for (const { checked } of places) {
    const refused = await sandbox.checkedAgain(checked);
    if (refused) throw pathRefused(refused);
  }
}
