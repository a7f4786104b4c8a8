import { expect } from "vitest";
import { tracesOf } from "../traces.ts";
import type { ServerFolder } from "./server-folder.ts";
import type { ServerProcess } from "./server-process.ts";

/**
 * Resolves once both processes that the tool `cling` has started are there: its own by then heeds no signal. What it printed would not do:
 * a call that is waited for has no news before its first watcher, so that they may have been told to nobody.
 */
export async function clinging({ folder }: ServerFolder, { pid }: ServerProcess): Promise<void> {
  const processes = () => tracesOf(folder, pid).processes.filter((each) => /^\d+ sleep 611$/.test(each));
  await expect.poll(() => processes().length, { timeout: 60_000 }).toBeGreaterThan(1);
}
