const MAX_CHARS = 64;
const MAX_CANDIDATES = 10_000;

/** The candidates a misspelt name was probably meant to be, nearest first; none when all are too far away. */
export function nearestNames(name: string, candidates: Iterable<string>, limit = 3): string[] {
  if (name.length > MAX_CHARS) return [];
  const wanted = name.toLowerCase();
  const near: { candidate: string; distance: number }[] = [];
  let seen = 0;
  for (const candidate of candidates) {
    seen += 1;
    if (seen > MAX_CANDIDATES) break;
    const distance = distanceOf(wanted, candidate.toLowerCase());
    if (distance !== undefined) near.push({ candidate, distance });
  }
  near.sort((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  return near.slice(0, limit).map(({ candidate }) => candidate);
}

export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  return nearestNames(name, candidates, 1)[0];
}

/** Names that contain each other are near too: "weather" for "weather.forecast". */
function distanceOf(wanted: string, candidate: string): number | undefined {
  const allowed = wanted.length < 3 ? 0 : Math.max(1, Math.ceil(wanted.length / 3));
  const shorter = Math.min(wanted.length, candidate.length);
  if (candidate === wanted) return 0;
  if (shorter >= 3 && (candidate.includes(wanted) || wanted.includes(candidate))) return 1;
  if (Math.abs(wanted.length - candidate.length) > allowed || candidate.length > MAX_CHARS) return undefined;
  const distance = editDistance(wanted, candidate);
  return distance <= allowed ? distance : undefined;
}

/** Insertions, deletions, substitutions and swaps of neighbours; the last is what fast fingers do. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const changed = (last[column - 1] ?? 0) + (same ? 0 : 1);
      const cheapest = Math.min(changed, (last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        swapped && column > 1 && row > 1 ? Math.min(cheapest, (beforeLast[column - 2] ?? 0) + 1) : cheapest,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? from.length;
}
