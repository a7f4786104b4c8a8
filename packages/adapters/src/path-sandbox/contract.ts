import type { FileHandle } from "node:fs/promises";
import type { Failure } from "@sallyport/protocol";

/** What a path sandbox is made of. */
export interface PathSandboxOptions {
  /** The folders that may be used; relative ones are taken from the process's own folder. At least one. */
  roots: readonly string[];
  /** What relative paths are relative to; inside a root. The first root unless given. */
  cwd?: string;
  /** Besides the default ones: `*` and `?` stay within a name, `**` crosses folders. */
  deniedPatterns?: readonly string[];
  /** Whether a path may be absolute; it has to be inside a root all the same. Not unless given. */
  allowAbsolute?: boolean;
  /** Whether `DEFAULT_DENIES` hold. They do unless this is false. */
  includeDefaultDenies?: boolean;
  /** Whether the roots take `a` and `A` for one name. Found out for each root unless given. */
  caseInsensitive?: boolean | "detect";
}

/** A path that passed. Use `path` for whatever comes next, never the text that was checked. */
export interface CheckedPath {
  /** As it was written; refusals speak of it so. */
  asked: string;
  /** Absolute, free of links. */
  path: string;
  /** The root it is in, as canonical. */
  root: string;
  /** From the root, with `/`; "." for the root itself. */
  relative: string;
  exists: boolean;
  /** Only of what exists; "other" is a pipe, a socket or a device. */
  type?: FileType;
}

/** What can be at a path that no link is left in. */
export type FileType = "file" | "folder" | "other";

/** Decides which paths may be used. Looks at the file system and never changes it. */
export interface PathSandbox {
  /** The canonical roots, each once, in the order given. */
  readonly roots: readonly string[];
  /** The canonical working folder. */
  readonly cwd: string;
  /** Where a path leads, or why it may not be used: E3901, E3955, E3956, or E3907 when it cannot be looked at. */
  check(path: string): Promise<CheckedPath | Failure>;
  /** To be asked right before the use: undefined when all is as it was checked. */
  checkedAgain(checked: CheckedPath): Promise<Failure | undefined>;
  /** Opens a file for reading and proves that it is the one that was checked. The caller closes it. */
  openChecked(checked: CheckedPath): Promise<FileHandle | Failure>;
  /** The pattern that denies a canonical path, by its text alone: for listings. */
  deniedBy(canonicalPath: string): string | undefined;
}
