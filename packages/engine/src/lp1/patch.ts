/** Operations that look for a run of lines. Without `occurrence` the run must be in the file exactly once. */
export interface MatchOperation {
  kind: "replace" | "insert_after" | "insert_before" | "erase";
  /** 1-based line of the patch on which the operation begins. */
  line: number;
  occurrence: number | undefined;
  find: readonly string[];
  /** The new block; empty for `erase`. */
  lines: readonly string[];
}

/** Operations on either end of the file. */
export interface EdgeOperation {
  kind: "append" | "prepend";
  line: number;
  lines: readonly string[];
}

/** Whether the file is to end with a newline. */
export interface FinalNewlineOperation {
  kind: "final_newline";
  line: number;
  present: boolean;
}

export type Lp1Operation = MatchOperation | EdgeOperation | FinalNewlineOperation;

/** One file's part of a patch. */
export interface Lp1Section {
  /** As written in the patch: neither resolved nor judged. */
  path: string;
  /** 1-based line of its `F`. */
  line: number;
  operations: Lp1Operation[];
}

/** A patch that was read without fault. */
export interface Lp1Patch {
  kind: "lp1_patch";
  sections: Lp1Section[];
}

/** True of the operations that need a file to look into. */
export function isMatchOperation(operation: Lp1Operation): operation is MatchOperation {
  return "find" in operation;
}
