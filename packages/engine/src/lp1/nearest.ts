import { differingExcerpts, excerpt } from "./excerpt.ts";
import { leadingEqual } from "./leading-equal.ts";
import type { LineList } from "./line-list.ts";
import type { NearestPlace } from "./problem.ts";

/** Lines compared at most; beyond it the count of equal lines is a part of the truth, which is enough for a hint. */
const MOST_VOTES = 4_000_000;

export interface FindBlock {
  texts: readonly string[];
  /** The same lines as names of the list. */
  names: Int32Array;
}

/**
 * Where a find-block that is not in the file comes closest: the most leading lines equal, then the most lines equal, then the
 * first such place. When no line is equal, lines that differ only in white space or case are counted.
 */
export function nearestPlace(list: LineList, find: FindBlock): NearestPlace | undefined {
  const nodes = list.nodes();
  const names = nodes.map((node) => list.name(node));
  const leading = leadingEqual(find.names, names);
  const at =
    best(leading, equalLines(names, find.names)) ??
    best(leading, equalLines(...folded(list, nodes, find.texts)));
  if (at === undefined) return undefined;
  const index = leading[at] ?? 0;
  const node = nodes[at + index];
  const found = node === undefined ? undefined : list.text(node);
  return { line: at + 1, firstDifference: difference(at + index + 1, find.texts[index] ?? "", found) };
}

function difference(fileLine: number, expected: string, found: string | undefined) {
  if (found === undefined) return { fileLine, expected: excerpt(expected), found: null };
  return { fileLine, ...differingExcerpts(expected, found) };
}

/** The place with the most leading lines, then the most lines; none when nothing is equal anywhere. */
function best(leading: Int32Array, equal: Int32Array): number | undefined {
  let at = 0;
  for (let index = 1; index < equal.length; index += 1) {
    const more = (leading[index] ?? 0) - (leading[at] ?? 0) || (equal[index] ?? 0) - (equal[at] ?? 0);
    if (more > 0) at = index;
  }
  return (leading[at] ?? 0) + (equal[at] ?? 0) > 0 ? at : undefined;
}

/** How many lines of the find-block are equal if it began at each place of the file. Rare lines say most and go first. */
function equalLines(file: Int32Array, find: Int32Array): Int32Array {
  const placesOf = new Map<number, number[]>();
  for (const name of find) if (name !== 0) placesOf.set(name, []);
  for (let index = 0; index < file.length; index += 1) placesOf.get(file[index] ?? 0)?.push(index);
  const votes = new Int32Array(file.length);
  let left = MOST_VOTES;
  const offsets = Array.from(find, (name, offset) => ({ offset, places: placesOf.get(name) ?? [] }));
  for (const { offset, places } of offsets.sort((a, b) => a.places.length - b.places.length)) {
    left -= places.length;
    if (left < 0) break;
    for (const place of places) if (place >= offset) votes[place - offset] = (votes[place - offset] ?? 0) + 1;
  }
  return votes;
}

const fold = (line: string) => line.replaceAll(/\s+/gu, "").toLowerCase();

/** File and find-block as names that leave white space and case aside; a blank line is like no other. */
function folded(list: LineList, nodes: Int32Array, texts: readonly string[]): [Int32Array, Int32Array] {
  const names = new Map<string, number>([["", 0]]);
  const find = Int32Array.from(texts, (text) => {
    const key = fold(text);
    const name = names.get(key) ?? names.size;
    names.set(key, name);
    return name;
  });
  return [nodes.map((node) => names.get(fold(list.text(node))) ?? 0), find];
}
