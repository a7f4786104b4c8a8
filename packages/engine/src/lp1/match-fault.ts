import type { LineList } from "./line-list.ts";
import type { Location } from "./locate.ts";
import { type FindBlock, nearestPlace } from "./nearest.ts";
import type { Fault, MatchPlaces, NearestPlace } from "./problem.ts";

/** Says why a find-block points nowhere, and what would help: the nearest place, or all the places. */
export function matchFault(
  location: Exclude<Location, { kind: "found" }>,
  list: LineList,
  find: FindBlock,
): Fault {
  if (location.kind === "none") return notFound(nearestPlace(list, find), list.size);
  if (location.kind === "several") return notUnique(location.places);
  if (location.kind === "exhausted") return tooMuchWork();
  return outOfRange(`the find-block matches ${times(location.count)}`);
}

/** For an occurrence that is higher than there are. */
export function outOfRange(there: string): Fault {
  return { reason: "occurrence_out_of_range", text: `occurrence out of range: ${there}` };
}

/** For a find-block without lines that does not say which gap it means. */
export function emptyMatch(): Fault {
  return { reason: "empty_match", text: "empty match requires occurrence: the line before which the gap is" };
}

/** For a patch that would take too long. */
export function tooMuchWork(): Fault {
  const advice = "fewer operations, or find-blocks with a line that is rare in the file";
  return { reason: "too_much_work", text: `the patch takes too much searching; use ${advice}` };
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

function notFound(nearest: NearestPlace | undefined, size: number): Fault {
  const reason = "match_not_found";
  if (nearest === undefined)
    return { reason, text: `match not found: no line of it is in the file (${size} lines)` };
  const { fileLine, expected, found } = nearest.firstDifference;
  const there = found === null ? "the file ends" : `the file has "${found}"`;
  const text = `match not found: nearest at file line ${nearest.line}, where at file line ${fileLine} the find-block has "${expected}" but ${there}`;
  return { reason, text, nearest };
}

function notUnique(places: MatchPlaces): Fault {
  const more = places.count > places.lines.length ? ", …" : "";
  const where = places.lines.join(", ") + more;
  const text = `match is not unique: ${places.count} places, at file lines ${where}; add lines to the find-block or an occurrence`;
  return { reason: "match_not_unique", text, places };
}
