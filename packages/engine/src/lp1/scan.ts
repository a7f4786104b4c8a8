import type { LineList } from "./line-list.ts";
import type { MatchPlaces } from "./problem.ts";

const MOST_PLACES = 20;

/** For each length of a prefix, how long the longest proper prefix is that it also ends with. */
function fallbacks(find: Int32Array): Int32Array {
  const table = new Int32Array(find.length);
  let length = 0;
  for (let index = 1; index < find.length; index += 1) {
    while (length > 0 && find[index] !== find[length]) length = table[length - 1] ?? 0;
    if (find[index] === find[length]) length += 1;
    table[index] = length;
  }
  return table;
}

export interface Scan extends MatchPlaces {
  /** The last line of the match met last. */
  lastNode: number;
}

/**
 * Walks through the file in order and stops at the `stopAt`-th match; overlapping ones count. Knuth, Morris and Pratt's way:
 * no line is looked at twice, however nearly the find-block matches everywhere.
 */
export function scan(list: LineList, find: Int32Array, stopAt: number): Scan {
  const table = fallbacks(find);
  const found: Scan = { count: 0, lines: [], lastNode: 0 };
  let equal = 0;
  for (let node = list.next(0), line = 1; node !== 0; node = list.next(node), line += 1) {
    const name = list.name(node);
    while (equal > 0 && (equal === find.length || find[equal] !== name)) equal = table[equal - 1] ?? 0;
    if (find[equal] === name) equal += 1;
    if (equal !== find.length) continue;
    found.count += 1;
    found.lastNode = node;
    if (found.lines.length < MOST_PLACES) found.lines.push(line - find.length + 1);
    if (found.count === stopAt) break;
  }
  return found;
}
