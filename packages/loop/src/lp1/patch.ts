/** What kind of fault it is; the message says the rest. */
export type Lp1Reason =
  | "bad_patch"
  | "match_not_found"
  | "match_not_unique"
  | "occurrence_out_of_range"
  | "empty_match"
  | "missing_file"
  | "bare_cr"
  | "mixed_eol"
  | "invalid_utf8"
  | "too_much_work";

/** The first line at which the nearest place differs from the find-block. Both texts are bounded excerpts. */
export interface FirstDifference {
  /** 1-based line of the file. */
  fileLine: number;
  expected: string;
  /** Null when the file ends before it. */
  found: string | null;
}

/** Where a find-block that was not found comes closest. To be told, never to be used. */
export interface NearestPlace {
  /** 1-based line of the file at which the find-block would begin. */
  line: number;
  firstDifference: FirstDifference;
}

/** Where a find-block was found more than once. */
export interface MatchPlaces {
  count: number;
  /** 1-based first lines, at most 20 of them. */
  lines: number[];
}

/** Why a patch cannot be read or applied. Lines of the file are counted as the operations before left it. */
export interface Lp1Problem {
  kind: "lp1_problem";
  reason: Lp1Reason;
  /** 1-based line of the patch. */
  line: number;
  /** For people and models: bounded, one line, without unseen characters. Names the patch line. */
  message: string;
  path?: string;
  nearest?: NearestPlace;
  places?: MatchPlaces;
}

/** A problem before it is known to which line of the patch it belongs. */
export type Fault = Pick<Lp1Problem, "reason" | "nearest" | "places"> & { text: string };

/** A fault of the patch's own text. */
export function badPatch(text: string): Fault {
  return { reason: "bad_patch", text };
}

/** The fault, at its line of the patch. */
export function problemAt(line: number, { text, ...fault }: Fault): Lp1Problem {
  return { kind: "lp1_problem", ...fault, line, message: `patch line ${line}: ${text}` };
}

export function isLp1Problem(value: { kind: string }): value is Lp1Problem {
  return value.kind === "lp1_problem";
}

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
