import { OpenFile, openFile } from "./open-file.ts";
import type { Lp1Operation } from "./patch.ts";
import { type Lp1Problem, problemAt } from "./problem.ts";
import { Work } from "./work.ts";

export type SectionOutcome = { kind: "changed"; content: Buffer } | { kind: "unchanged" } | Lp1Problem;

/**
 * Runs operations on a file's bytes; undefined is a file that does not exist. After a problem nothing is changed. A file that
 * did not exist and would be empty stays unmade.
 */
export function applySection(
  content: Buffer | undefined,
  operations: readonly Lp1Operation[],
): SectionOutcome {
  const file = openFile(content, operations);
  if (!(file instanceof OpenFile)) return problemAt(operations[0]?.line ?? 1, file);
  return file.run(operations, new Work()) ?? comparedWith(content, file.content());
}

/** Equal bytes are no change. */
export function comparedWith(
  before: Buffer | undefined,
  content: Buffer,
): { kind: "changed"; content: Buffer } | { kind: "unchanged" } {
  const same = before === undefined ? content.length === 0 : before.equals(content);
  return same ? { kind: "unchanged" } : { kind: "changed", content };
}
