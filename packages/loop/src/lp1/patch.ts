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

/** How to write LP1, for a model: part of the description of the tool that applies patches. */
export const LP1_GUIDE = `A patch in LP1 (Line Patch v1):
LP1
F path/to/file
<operations>
END
Each "F path" begins a file (quote a path with spaces: F "a b.txt"). Operations run in order, each on the result of the one before:
R  replace: find-block, new block
I  insert after: find-block, new block
P  insert before: find-block, new block
E  erase: find-block
T  append at the end of the file: new block
B  put at the beginning of the file: new block
N + / N -  the file ends / does not end with a newline
A block is whole lines, ended by a line with only "." in column 1. A content line that begins with "." gets one more "." (".env" is written "..env"). Everything else in a block is literal: no quoting, no line numbers, exact spaces and tabs.
A find-block must match whole lines exactly and occur once in the file; add neighbouring lines until it does, or give the number of the match: R 2. An empty new block in R deletes.
A file that does not exist is made by T, B and N only; add "N +" last to end it with a newline. Files cannot be deleted or renamed. A line that begins with # between operations is a comment.
Example:
LP1
F src/app.ts
R
const port = 80;
.
const port = 8080;
.
I
import a from "a";
.
import b from "b";
.
F notes.txt
T
First line
.
N +
END
`;
