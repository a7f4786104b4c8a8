import { isAbsolute, join } from "node:path";
import { isExecutable } from "../launcher/is-executable.ts";

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
