import type { LineList } from "./line-list.ts";
import type { MatchPlaces } from "./problem.ts";
import { scan } from "./scan.ts";
import type { Work } from "./work.ts";

/** With more lines to compare than this, one walk through the file, which may end early, is the cheaper way. */
const MOST_COMPARED = 2_048;

/** Where a find-block is. */
export type Location =
  | { kind: "found"; first: number }
  | { kind: "none" }
  | { kind: "several"; places: MatchPlaces }
  | { kind: "too_few"; count: number }
  | { kind: "exhausted" };

export interface Wanted {
  /** The find-block's lines as names of the list; at least one. */
  find: Int32Array;
  occurrence: number | undefined;
}

/** Finds the only match, or the one that is asked for. Costs one walk through the file at most, mostly far less. */
export function locate(list: LineList, wanted: Wanted, work: Work): Location {
  const { find, occurrence } = wanted;
  const rarest = rarestOf(list, find);
  const rare = list.living(find[rarest] ?? 0);
  if (rare === 0 || find.length > list.size) return missing(occurrence, 0);
  if (rare * find.length > MOST_COMPARED) return walk(list, wanted, work);
  if (!work.spend(rare * find.length)) return { kind: "exhausted" };
  const starts = startsAround(list, find, rarest);
  const [first] = starts;
  if (first === undefined || starts.length < (occurrence ?? 1)) return missing(occurrence, starts.length);
  return starts.length === 1 ? { kind: "found", first } : walk(list, wanted, work);
}

function missing(occurrence: number | undefined, count: number): Location {
  return occurrence === undefined || count === 0 ? { kind: "none" } : { kind: "too_few", count };
}

function rarestOf(list: LineList, find: Int32Array): number {
  let rarest = 0;
  for (let index = 1; index < find.length; index += 1)
    if (list.living(find[index] ?? 0) < list.living(find[rarest] ?? 0)) rarest = index;
  return rarest;
}

/** The first nodes of all matches, in no particular order, found by one line of the find-block. */
function startsAround(list: LineList, find: Int32Array, index: number): number[] {
  const starts: number[] = [];
  for (const node of list.nodesOf(find[index] ?? 0)) {
    const first = startOf(list, node, index);
    if (first !== 0 && matchesAt(list, first, find)) starts.push(first);
  }
  return starts;
}

/** The node `steps` lines before, or 0 when the file begins later. */
function startOf(list: LineList, node: number, steps: number): number {
  let first = node;
  for (let step = 0; step < steps && first !== 0; step += 1) first = list.previous(first);
  return first;
}

function matchesAt(list: LineList, first: number, find: Int32Array): boolean {
  let node = first;
  for (const name of find) {
    if (node === 0 || list.name(node) !== name) return false;
    node = list.next(node);
  }
  return true;
}

function walk(list: LineList, { find, occurrence }: Wanted, work: Work): Location {
  const { lastNode, steps, count, lines } = scan(list, find, occurrence ?? Number.POSITIVE_INFINITY);
  if (!work.spend(steps)) return { kind: "exhausted" };
  if (count < (occurrence ?? 1)) return missing(occurrence, count);
  if (occurrence === undefined && count > 1) return { kind: "several", places: { count, lines } };
  return { kind: "found", first: startOf(list, lastNode, find.length - 1) };
}

/** The node before the gap in front of line `line`, from 1 to one past the last; walked from the nearer end. */
export function nodeBefore(list: LineList, line: number): number {
  let node = 0;
  if (line - 1 <= list.size / 2) for (let step = 1; step < line; step += 1) node = list.next(node);
  else for (let step = list.size + 1; step >= line; step -= 1) node = list.previous(node);
  return node;
}
