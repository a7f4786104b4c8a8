import fc from "fast-check";
import type { FileOp } from "./file-ops.ts";

/** What a workspace holds at first, and what a tool then does to it. */
export interface Workload {
  tree: FileOp[];
  ops: FileOp[];
}

/** Few names, so that operations meet; odd ones among them. */
const NAMES = ["a", "b", "c d", "é\n", ".x", "-r", "*"];

const name = fc.constantFrom(...NAMES);
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
const content = fc.oneof(
  fc.constantFrom("", "x", "one\ntwo\n", "\0bin"),
  fc.string({ maxLength: 40 }),
  fc.integer({ min: 5_000, max: 9_000 }).map((length) => "0123456789\n".repeat(length / 11)),
);
const fileMode = fc.constantFrom(0o644, 0o600, 0o755, 0o444, 0o000, 0o200);
const folderMode = fc.constantFrom(0o755, 0o700, 0o555, 0o500);
const target = fc.oneof(path, fc.constantFrom("/etc/passwd", "..", "../../x", "."));

const op: fc.Arbitrary<FileOp> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("write" as const), path, content }) },
  fc.record({ do: fc.constant("write" as const), path, content, mode: fileMode }),
  fc.record({ do: fc.constant("append" as const), path, content }),
  fc.record({ do: fc.constant("truncate" as const), path, bytes: fc.integer({ min: 0, max: 20 }) }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete" as const), path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete tree" as const), path }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("move" as const), path, to: path }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("make folder" as const), path }) },
  fc.record({ do: fc.constant("remove folder" as const), path }),
  fc.record({ do: fc.constant("chmod" as const), path, mode: fc.oneof(fileMode, folderMode) }),
  fc.record({ do: fc.constant("symlink" as const), path, target }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant("hard link" as const), path, to: path }) },
);

const seedling: fc.Arbitrary<FileOp> = fc.oneof(
  fc.record({ do: fc.constant("write" as const), path, content, mode: fileMode }),
  fc.record({ do: fc.constant("make folder" as const), path }),
  fc.record({ do: fc.constant("symlink" as const), path, target }),
);

/** Any tree, any work. Files have one name each at first: links among them are for the contract to speak of. */
export const workload: fc.Arbitrary<Workload> = fc.record({
  tree: fc
    .array(seedling, { maxLength: 12 })
    .map((ops) => [...NAMES.slice(0, 3).map((path): FileOp => ({ do: "make folder", path })), ...ops]),
  ops: fc.array(op, { minLength: 1, maxLength: 14 }),
});

/** The same in a folder of its own, so that many fit into one workspace. */
export function inFolder(folder: string, ops: readonly FileOp[]): FileOp[] {
  return ops.map((op) => ({
    ...op,
    path: `${folder}/${op.path}`,
    ...("to" in op && { to: `${folder}/${op.to}` }),
  }));
}
