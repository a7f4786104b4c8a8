import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";

/** What the systems we know take for the path of a socket, less one for the end. */
const LONGEST_PATH = 103;

/** The folder of the desk's socket. */
export const deskFolder = (stateFolder: string): string => join(stateFolder, "run");

/** A name of the desk's socket, good until `leave` is called. */
export interface DeskPlace {
  path: string;
  leave(): void;
}

/**
 * Where the desk of a server is; undefined where a socket cannot be, or its folder is not there. A folder whose path is
 * too long for a socket is named by a descriptor of it.
 */
export function deskPlace(stateFolder: string): DeskPlace | undefined {
  const folder = deskFolder(stateFolder);
  const path = join(folder, "desk.sock");
  if (process.platform === "win32") return undefined;
  if (Buffer.byteLength(path) <= LONGEST_PATH) return { path, leave: () => undefined };
  if (process.platform !== "linux") return undefined;
  try {
    const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    return { path: `/proc/self/fd/${fd}/desk.sock`, leave: () => closeSync(fd) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
