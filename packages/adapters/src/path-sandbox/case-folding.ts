import { lstatSync, opendirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const MOST_ENTRIES = 32;

/**
 * Whether a folder takes `a` and `A` for one name, found out by asking for a name in its other case. Creates nothing.
 * A folder without letters in its names, or one that cannot be read, is judged by its own name, then by what its
 * system usually does.
 */
export function foldsCase(folder: string): boolean {
  for (const name of someNames(folder)) {
    const answer = answersToOtherCase(folder, name);
    if (answer !== undefined) return answer;
  }
  const own = answersToOtherCase(dirname(folder), basename(folder));
  return own ?? (process.platform === "darwin" || process.platform === "win32");
}

function answersToOtherCase(folder: string, name: string): boolean | undefined {
  const other = name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase();
  if (other === name) return undefined;
  const one = lstatSync(join(folder, name), { throwIfNoEntry: false, bigint: true });
  const two = lstatSync(join(folder, other), { throwIfNoEntry: false, bigint: true });
  if (!one) return undefined;
  return two !== undefined && one.dev === two.dev && one.ino === two.ino;
}

function someNames(folder: string): string[] {
  try {
    const entries = opendirSync(folder);
    try {
      const names = Array.from({ length: MOST_ENTRIES }, () => entries.readSync()?.name);
      return names.filter((name) => name !== undefined);
    } finally {
      entries.closeSync();
    }
  } catch {
    return [];
  }
}
