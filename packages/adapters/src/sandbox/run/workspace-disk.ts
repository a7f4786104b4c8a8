import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceView } from "@sallyport/engine";

const BLOCK_BYTES = 512;

/** What the launcher has to measure so that a workspace's changes stay within a limit. */
export async function workspaceDisk(
  view: WorkspaceView,
  bytes: number,
): Promise<{ bytes: number; paths: string[] }> {
  if (view.kind === "overlay") return { bytes, paths: [view.upper] };
  // A copy is full from the start: what it holds already is not the process's doing.
  return { bytes: bytes + (await allocated(view.copy)), paths: [view.copy] };
}

async function allocated(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true });
  const sizes = entries.map(async (entry): Promise<number> => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return allocated(path);
    return (await lstat(path)).blocks * BLOCK_BYTES;
  });
  return (await Promise.all(sizes)).reduce((sum, one) => sum + one, 0);
}
