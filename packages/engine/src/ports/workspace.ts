import type { FileEffects } from "@sallyport/protocol";

/**
 * How a process gets to see a workspace that it cannot really change. `overlay`: the kernel puts `upper` over the
 * folder. `copy`: it works in a copy. Either way the process sees it at the folder's own path.
 */
export type WorkspaceView =
  | { kind: "overlay"; root: string; upper: string; work: string }
  | { kind: "copy"; root: string; copy: string };

/** What may be changed in a workspace. */
export interface WorkspaceRules {
  /** Absolute path, canonical. */
  root: string;
  /** Nothing can be committed when false. */
  writable: boolean;
  /** Relative paths or patterns (`**` crosses folders) that are neither shown nor changed, such as `.git/hooks/**`. */
  denied: readonly string[];
}

/** Files as one call sees and changes them, for tools in this process. Paths are relative to the workspace. */
export interface FileAccess {
  /** Rejects with E3105 for a path outside or denied, with a system error's code (ENOENT …) otherwise. */
  read(path: string): Promise<Buffer>;
  write(path: string, content: string | Uint8Array, options?: { mode?: number }): Promise<void>;
  /** A file, link or empty folder; with `recursive` also what is in it. */
  remove(path: string, options?: { recursive?: boolean }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  makeFolder(path: string): Promise<void>;
  link(path: string, target: string): Promise<void>;
  setMode(path: string, mode: number): Promise<void>;
  /** Names with their types, sorted. */
  list(path: string): Promise<FileEntry[]>;
  /** Undefined when there is nothing at the path. Links are not followed. */
  stat(path: string): Promise<FileEntry | undefined>;
}

export interface FileEntry {
  name: string;
  type: "file" | "folder" | "symlink" | "other";
  bytes: number;
  mode: number;
  modifiedAt: number;
}

/** A path that is no longer as the call found it. */
export interface FileConflict {
  path: string;
  /** Such as `edited by someone else`. */
  what: string;
}

export type FileCommit =
  | { ok: true; effects: FileEffects }
  | { ok: false; conflicts: FileConflict[] }
  /** Changed something it must not: nothing was committed. */
  | { ok: false; denied: { path: string; why: string }[] };

/** Proof that the workspace is as it was before the call. */
export interface FileRollback {
  verified: boolean;
  /** SHA-256 over the paths the call had touched and their states now. */
  hash: string;
  /** How many staged or applied changes were dropped. */
  discarded: number;
  /** Paths that could not be restored, with why. */
  left: FileConflict[];
}

/**
 * One call's changes to files. They are staged while it runs; `apply` puts them into the workspace behind a
 * write-ahead plan with pre-images; `keep` ends it after the outcome is on record; `rollback` ends it the other way.
 *
 *   staged → applied → kept
 *      ↓        ↓
 *   rolled back (by itself after a crash, unless the call's outcome is on record)
 */
export interface FileStaging {
  readonly callId: string;
  readonly root: string;
  /** For a process; the staging must not be used otherwise while it runs. */
  view(): Promise<WorkspaceView>;
  /** For code in this process. */
  readonly files: FileAccess;
  /** What would be committed now, with diffs. The process must have ended. */
  effects(): Promise<FileEffects>;
  /** All or nothing, across a crash too. On `ok: false` the workspace is untouched. */
  apply(order?: ApplyOrder): Promise<FileCommit>;
  /** After `apply`, once the outcome is on record: pre-images stay for a later undo, all else goes. */
  keep(): Promise<void>;
  rollback(): Promise<FileRollback>;
  /** Leaves the staged changes on disk under that name, to be applied later by `resumeHeld`. */
  hold(name: string): Promise<void>;
}

export interface ApplyOrder {
  /** The run of the call that applies: it stands in the plan on disk, so that recovery knows whose changes these are. */
  runId?: string | undefined;
}

export type Undone =
  | { ok: true; effects: FileEffects; verified: boolean }
  | { ok: false; reason: "unknown" | "expired" | "already_undone" }
  | { ok: false; reason: "changed_since"; conflicts: FileConflict[] };

/** Where calls change files. */
export interface Workspaces {
  /** Names the folder with the staged changes, for good: only the process that has it can take them back. */
  readonly id: string;
  /** Cheap: nothing is made on disk before it is used. */
  begin(order: { callId: string; rules: WorkspaceRules; maxBytes: number }): FileStaging;
  /** The held changes as a staging of that call; undefined when there are none (any more). */
  resumeHeld(name: string, callId: string): Promise<FileStaging | undefined>;
  /** Forgets held changes. Safe to repeat. */
  dropHeld(name: string): Promise<void>;
  /**
   * Ends what an earlier process left: applied changes stay when the call's outcome is on record as done and are taken
   * back otherwise; stagings are dropped, held ones stay. Resolves with the calls whose changes were taken back.
   */
  recover(
    isDone: (callId: string, order: ApplyOrder) => Promise<boolean>,
  ): Promise<{ callId: string; rollback: FileRollback }[]>;
  /** Takes a kept call back, when its files are still what it left. All or nothing, across a crash too. */
  undo(callId: string): Promise<Undone>;
  /** Forgets pre-images that are too old or too many. Never touches a workspace. */
  expire(): Promise<void>;
}
