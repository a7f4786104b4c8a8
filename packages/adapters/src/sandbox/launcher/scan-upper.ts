import { type LauncherChoice, refused, runLauncher } from "./run-launcher.ts";
import { readUpperLine, type UpperEntry } from "./upper-entry.ts";

export interface ScanOptions extends LauncherChoice {
  /** True when the overlay was mounted by an unprivileged user, which marks folders in another attribute. */
  userXattr: boolean;
  /** More entries than this is a failure. A million when left out. */
  maxEntries?: number;
}

const DEFAULT_MOST = 1_000_000;

/**
 * Everything in an upper layer, parents before children, sorted by the bytes of the name within a folder. Links are never
 * followed. Rejects with SallyportError E3101 when it cannot be read completely.
 */
export async function scanUpper(folder: string, options: ScanOptions): Promise<UpperEntry[]> {
  const entries: UpperEntry[] = [];
  const { userXattr, maxEntries = DEFAULT_MOST, ...choice } = options;
  await runLauncher({
    args: ["scan", ...(userXattr ? ["--user-xattr"] : []), "--max-entries", `${maxEntries}`, folder],
    advice: "The call left files that cannot be listed. Let it make fewer files, or shorter paths.",
    onLine: (line) => entries.push(readEntry(line)),
    ...choice,
  });
  return entries;
}

function readEntry(line: Buffer): UpperEntry {
  const entry = readUpperLine(line);
  if (!entry) throw refused("the launcher printed something that is no entry of a layer");
  return entry;
}
