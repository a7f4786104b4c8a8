import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";
import { type Failure, failure } from "@sallyport/protocol";

const DEBOUNCE_MS = 100;

export interface Notices {
  onChange(): void;
  /** Told when the files cannot be watched (any more), or a change could not be used. */
  onProblem(problem: Failure): void;
}

/**
 * Watches the folders of the files, because editors and deployments replace a file, or a link to it, rather than write
 * to it. A burst of events is one change, and none when the files are what they were. Keeps no process alive.
 */
export function watchFiles(files: readonly string[], { onChange, onProblem }: Notices): () => void {
  let known = signatureOf(files);
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    const now = signatureOf(files);
    if (now === known) return;
    known = now;
    onChange();
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, DEBOUNCE_MS);
  };
  const folders = [...new Set(files.map((file) => dirname(file)))];
  const watchers = folders.flatMap((folder) => watchFolder(folder, { onChange: soon, onProblem }) ?? []);
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}

function watchFolder(folder: string, { onChange, onProblem }: Notices): FSWatcher | undefined {
  const failed = (error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    onProblem(failure("E3223", { message: `Changes in ${folder} cannot be noticed: ${why}` }));
  };
  try {
    return watch(folder, { persistent: false }, onChange).on("error", failed);
  } catch (error) {
    failed(error);
    return undefined;
  }
}

/** Changes whenever a file is written, replaced, removed or linked to another. */
function signatureOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat ? `${stat.ino}:${stat.mtimeMs}:${stat.ctimeMs}:${stat.size}` : "gone";
    })
    .join("|");
}
