import { join } from "node:path";

/** What the systems we know take for the path of a socket, less one for the end. */
const LONGEST_PATH = 103;

/** Where the desk of a server is; undefined where a socket cannot be. */
export function deskPlace(stateFolder: string): string | undefined {
  const path = join(stateFolder, "run", "desk.sock");
  const fits = Buffer.byteLength(path) <= LONGEST_PATH;
  return fits && process.platform !== "win32" ? path : undefined;
}
