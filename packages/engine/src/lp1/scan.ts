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
  /** How many lines were looked at. */
  steps: number;
}

/**
 * Walks through the file in order and stops at the `stopAt`-th match; overlapping ones count. Knuth, Morris and Pratt's way:
 * no line is looked at twice, however nearly the find-block matches everywhere. The arrays are taken out of the list first:
 * this loop is what a patch costs.
 */
export function scan(list: LineList, find: Int32Array, stopAt: number): Scan {
  const { next, names } = list.arrays();
  const table = fallbacks(find);
  const length = find.length;
  const lines: number[] = [];
  let [count, lastNode, equal, steps] = [0, 0, 0, 0];
  for (let node = next[0] ?? 0; node !== 0 && count < stopAt; node = next[node] ?? 0) {
    const name = names[node] ?? 0;
    steps += 1;
    while (equal > 0 && find[equal] !== name) equal = table[equal - 1] ?? 0;
    if (find[equal] === name) equal += 1;
    if (equal !== length) continue;
    equal = table[length - 1] ?? 0;
    count += 1;
    lastNode = node;
    if (count <= MOST_PLACES) lines.push(steps - length + 1);
  }
  return { count, lines, lastNode, steps };
}
