import type { Lp1Problem, MatchPlaces, NearestPlace } from "./patch.ts";

/** A problem before it is known to which line of the patch it belongs. */
export type Fault = Pick<Lp1Problem, "reason" | "nearest" | "places"> & { text: string };

/** The fault, at its line of the patch. */
export function problemAt(line: number, { text, ...fault }: Fault): Lp1Problem {
  return { kind: "lp1_problem", ...fault, line, message: `patch line ${line}: ${text}` };
}

const MOST_PLACES = 20;
/** Looking at a place costs as much as passing over so many lines. */
const STEPS_PER_CANDIDATE = 8;
/** Lines compared at most for a hint; a hint from the first part of the file is enough. */
const MOST_HINT_STEPS = 20_000_000;
const MOST_CHARS = 120;
/** How much of what is equal is shown before the first difference of two long lines. */
const LEAD_CHARS = 40;
const ELLIPSIS = "…";
const UNSEEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\uffff]/gu;

/** Where a find-block is; `at` counts lines from 0. */
export type Location =
  | { kind: "found"; at: number }
  | { kind: "none" }
  | { kind: "several"; places: MatchPlaces }
  | { kind: "too_few"; count: number }
  | { kind: "exhausted" };

/** Finds the only match, or the one that is asked for, in lines given as numbers. Matches may overlap. */
export function locate(
  lines: readonly number[],
  { find, occurrence }: { find: readonly number[]; occurrence: number | undefined },
  work: { spend(steps: number): boolean },
): Location {
  const places: MatchPlaces = { count: 0, lines: [] };
  const first = find[0] ?? -1;
  let [from, only] = [0, 0];
  for (let at = lines.indexOf(first); at !== -1; from = at + 1, at = lines.indexOf(first, from)) {
    const equal = leadingEqual(lines, find, at);
    if (!work.spend(at - from + equal + STEPS_PER_CANDIDATE)) return { kind: "exhausted" };
    if (equal < find.length) continue;
    places.count += 1;
    only = at;
    if (places.count === occurrence) return { kind: "found", at };
    if (places.lines.length < MOST_PLACES) places.lines.push(at + 1);
  }
  if (!work.spend(lines.length - from)) return { kind: "exhausted" };
  if (places.count === 0) return { kind: "none" };
  if (occurrence !== undefined) return { kind: "too_few", count: places.count };
  return places.count === 1 ? { kind: "found", at: only } : { kind: "several", places };
}

/** How many lines of the find-block are equal from its first on, if it began at `at`. */
function leadingEqual<Line>(lines: readonly Line[], find: readonly Line[], at: number): number {
  let equal = 0;
  while (equal < find.length && lines[at + equal] === find[equal]) equal += 1;
  return equal;
}

/** Says why a find-block points nowhere, and what would help: the nearest place, or all the places. */
export function matchFault(
  location: Exclude<Location, { kind: "found" }>,
  lines: readonly string[],
  find: readonly string[],
): Fault {
  switch (location.kind) {
    case "none":
      return notFound(nearestPlace(lines, find), lines.length);
    case "several":
      return notUnique(location.places);
    case "exhausted":
      return tooMuchWork();
    case "too_few": {
      const times = location.count === 1 ? "once" : `${location.count} times`;
      const text = `occurrence out of range: the find-block matches ${times}`;
      return { reason: "occurrence_out_of_range", text };
    }
  }
}

/**
 * Where a find-block that is not in the file comes closest: the most leading lines equal, then the most lines equal, then the
 * first such place. When no line is equal, lines that differ only in white space or case are counted.
 */
function nearestPlace(lines: readonly string[], find: readonly string[]): NearestPlace | undefined {
  const at = closest(lines, find) ?? closest(lines.map(fold("file")), find.map(fold("find")));
  if (at === undefined) return undefined;
  const index = leadingEqual(lines, find, at);
  const [fileLine, expected, found] = [at + index + 1, find[index] ?? "", lines[at + index]];
  if (found === undefined)
    return { line: at + 1, firstDifference: { fileLine, expected: excerpt(expected), found: null } };
  return { line: at + 1, firstDifference: { fileLine, ...differingExcerpts(expected, found) } };
}

function closest(lines: readonly string[], find: readonly string[]): number | undefined {
  let best = { at: -1, leading: 0, equal: 0 };
  const most = Math.min(lines.length, Math.ceil(MOST_HINT_STEPS / find.length));
  for (let at = 0; at < most; at += 1) {
    const leading = leadingEqual(lines, find, at);
    let equal = 0;
    for (let index = 0; index < find.length; index += 1) if (lines[at + index] === find[index]) equal += 1;
    if (leading > best.leading || (leading === best.leading && equal > best.equal))
      best = { at, leading, equal };
  }
  return best.at === -1 ? undefined : best.at;
}

/** Leaves white space and case aside. A blank line is like no other. */
const fold = (side: "file" | "find") => (line: string) =>
  line.replaceAll(/\s+/gu, "").toLowerCase() || `blank in ${side}`;

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

/** For a patch that would take too long. */
export function tooMuchWork(): Fault {
  const advice = "fewer operations, or find-blocks whose first line is rare in the file";
  return { reason: "too_much_work", text: `the patch takes too much searching; use ${advice}` };
}

function named(char: string): string {
  return char === "\t" ? "\\t" : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A bounded part of a line that is safe to show: a tab is `\t`, any other unseen character `\u{…}`. */
export function excerpt(line: string, from = 0): string {
  const part = line.slice(from, from + MOST_CHARS).replaceAll(UNSEEN, named);
  const before = from > 0 ? ELLIPSIS : "";
  return before + part + (from + MOST_CHARS < line.length ? ELLIPSIS : "");
}

/** Of two lines that differ, the parts around the first difference, begun at the same column. */
function differingExcerpts(expected: string, found: string): { expected: string; found: string } {
  let same = 0;
  while (same < expected.length && expected[same] === found[same]) same += 1;
  const from = same + LEAD_CHARS > MOST_CHARS ? same - LEAD_CHARS : 0;
  return { expected: excerpt(expected, from), found: excerpt(found, from) };
}
