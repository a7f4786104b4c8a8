import type { Permissions } from "@sallyport/protocol";

type PathPermission = Permissions["filesystem"][number];

/**
 * Whether one of the allowed paths holds the wanted one, compared by segments: `/work` holds `/work/a` and not
 * `/workshop`. What cannot be judged is not covered. Links are for whoever opens the file to follow.
 */
export function coversPath(allowed: readonly PathPermission[], wanted: PathPermission): boolean {
  const inside = segmentsOf(wanted.path);
  return (
    inside !== undefined &&
    allowed.some(
      ({ path, mode }) => (mode === "rw" || wanted.mode === "ro") && holds(segmentsOf(path), inside),
    )
  );
}

function holds(outer: string[] | undefined, inner: string[]): boolean {
  return outer?.every((segment, index) => segment === inner[index]) === true;
}

/**
 * The normalised path, with "" first when it is absolute. Undefined when nobody can say where it leads: above the
 * folder it is relative to, or with characters that some systems take for separators or ends.
 */
function segmentsOf(path: string): string[] | undefined {
  if (path === "" || /[\\\0]/.test(path)) return undefined;
  const absolute = path.startsWith("/");
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined && !absolute) return undefined;
  }
  return absolute ? ["", ...segments] : [".", ...segments];
}
