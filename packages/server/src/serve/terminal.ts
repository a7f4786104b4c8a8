import { closeSync, constants, openSync } from "node:fs";

/** Whether this process belongs to a terminal at which somebody may sit. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", constants.O_RDWR | constants.O_NOCTTY));
    return true;
  } catch {
    return false;
  }
}

/** Says whether a terminal that is there now has been closed since. */
export function terminalGone(isThere: () => boolean = hasTerminal): () => boolean {
  const was = isThere();
  return () => was && !isThere();
}
