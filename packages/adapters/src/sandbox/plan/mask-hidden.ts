import { foldersBetween, isWithin, movedPath } from "./paths.ts";
import type { PlannedBind, PlannedMount } from "./sandbox-plan.ts";

/** A host path that exists and must not be seen, without links in it. */
export interface HiddenPath {
  path: string;
  isFolder: boolean;
}

/**
 * Covers hidden paths wherever a bind would show them. Where the bind can be written, the folders above are made mount
 * points too: otherwise the parent could be renamed away and something else put in the hidden path's place.
 */
export function maskHidden(hidden: readonly HiddenPath[], binds: readonly PlannedBind[]): PlannedMount[] {
  const shown = hidden.flatMap((one) =>
    binds
      .filter((bind) => isWithin(one.path, bind.host) && !isCovered(one.path, bind, binds))
      .map((bind) => ({ one, bind })),
  );
  const pins = shown.flatMap(({ one, bind }) => (bind.mode === "rw" ? pinsFor(one.path, bind) : []));
  const masks = shown.map(({ one, bind }): PlannedMount => {
    const target = movedPath(one.path, bind.host, bind.target);
    return { kind: one.isFolder ? "emptyFolder" : "emptyFile", target };
  });
  return [...unique(pins), ...unique(outermost(masks))];
}

/** True when a deeper bind has taken the place where this bind would show the path. */
function isCovered(path: string, bind: PlannedBind, binds: readonly PlannedBind[]): boolean {
  const inside = movedPath(path, bind.host, bind.target);
  return binds.some(
    (other) =>
      other.target !== bind.target && isWithin(other.target, bind.target) && isWithin(inside, other.target),
  );
}

function pinsFor(path: string, bind: PlannedBind): PlannedMount[] {
  return foldersBetween(bind.host, path).map((folder) => ({
    ...bind,
    source: movedPath(folder, bind.host, bind.source),
    host: folder,
    target: movedPath(folder, bind.host, bind.target),
  }));
}

/** What lies in a masked folder is gone already, and could not be mounted over any more. */
function outermost(masks: readonly PlannedMount[]): PlannedMount[] {
  const folders = masks.filter((mask) => mask.kind === "emptyFolder");
  return masks.filter(
    (mask) =>
      !folders.some((folder) => folder.target !== mask.target && isWithin(mask.target, folder.target)),
  );
}

function unique(mounts: readonly PlannedMount[]): PlannedMount[] {
  return [...new Map(mounts.map((mount) => [mount.target, mount])).values()].toSorted(
    (a, b) => a.target.length - b.target.length,
  );
}
