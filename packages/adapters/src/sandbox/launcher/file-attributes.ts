import { findLauncher } from "./find-launcher.ts";
import { runLauncher } from "./run-launcher.ts";

/**
 * Which of some files have access lists or attributes of their users, and which folders an access list for new files, by
 * their place in the list. Undefined where there is no launcher to look. Rejects with SallyportError E3101 when one cannot be looked at, or is reached through a link.
 */
export async function listAttributes(
  folder: string,
  paths: readonly string[],
): Promise<Set<number> | undefined> {
  const found = new Set<number>();
  if ("missing" in findLauncher()) return undefined;
  const onLine = (line: Buffer) => void found.add(Number(line.toString()));
  if (paths.length > 0) await runLauncher({ args: ["attributes", folder], input: namesOf(paths), onLine });
  return found;
}

/** Gives files the access lists (or none) and attributes of others, and puts them on disk. Rejects as `listAttributes`. */
export async function copyAttributes(
  folder: string,
  pairs: readonly { from: string; to: string }[],
): Promise<void> {
  const input = namesOf(pairs.flatMap(({ from, to }) => [from, to]));
  await runLauncher({ args: ["attributes", "--copy", folder], input, onLine: () => undefined });
}

function namesOf(paths: readonly string[]): Buffer {
  return Buffer.from(paths.map((path) => `${path}\0`).join(""));
}
