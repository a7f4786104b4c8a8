import { accessSync, constants } from "node:fs";
import { isAbsolute, join } from "node:path";

/** Where system programs are; not PATH, which could name a folder that somebody else can write. */
const FOLDERS = [
  ...["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"],
  ...["/run/wrappers/bin", "/run/current-system/sw/bin"],
];

/** The absolute path of a program given by name or path; undefined when it is not there or cannot be run. */
export function findProgram(program: string): string | undefined {
  const places = isAbsolute(program) ? [program] : FOLDERS.map((folder) => join(folder, program));
  return places.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Absent or not for us: either way it is not a program we can use.
    return false;
  }
}
