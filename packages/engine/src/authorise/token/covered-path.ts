import type { Permissions } from "@sallyport/protocol";
import { pathInside, readPath } from "../../match/paths.ts";
import { YES } from "../../match/truth.ts";

type PathPermission = Permissions["filesystem"][number];

/**
 * Whether one of the allowed paths holds the wanted one, compared by segments: `/data` holds `/data/a` and not
 * `/database`. What cannot be judged is not covered. Links are for whoever opens the file to follow.
 */
export function coversPath(allowed: readonly PathPermission[], wanted: PathPermission): boolean {
  const inner = readPath(wanted.path);
  return allowed.some(({ path, mode }) => {
    const outer = readPath(path);
    if (inner === undefined || outer === undefined) return false;
    return (mode === "rw" || wanted.mode === "ro") && pathInside(inner, outer) === YES;
  });
}
