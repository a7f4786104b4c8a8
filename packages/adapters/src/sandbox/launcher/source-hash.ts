import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** How the launcher is compiled, besides its sources. Part of the hash: other flags make another program. */
export const COMPILER_FLAGS: readonly string[] = [
  "-std=gnu11",
  "-static",
  "-O2",
  "-fstack-protector-strong",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-D_GNU_SOURCE",
];

/** The launcher's C sources, sorted. Throws when the folder cannot be read. */
export function sourceFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /\.[ch]$/.test(name))
    .toSorted();
}

/** SHA-256 over names and contents of the sources and the flags: another one means that the binary is stale. */
export function sourceHash(folder: string): string {
  const hash = createHash("sha256").update(COMPILER_FLAGS.join(" "));
  for (const name of sourceFiles(folder)) hash.update(`\0${name}\0`).update(readFileSync(join(folder, name)));
  return hash.digest("hex");
}
