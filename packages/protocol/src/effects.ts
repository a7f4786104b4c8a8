/** What a file, folder or link is like at one moment. */
export interface FileState {
  type: "file" | "folder" | "symlink";
  /** Permission bits, such as 0o644. */
  mode: number;
  /** Of a file: its size. */
  bytes?: number;
  /** Of a file: over its content. */
  sha256?: string;
  /** Of a symlink: where it leads, as written in it. */
  target?: string;
}

export const FILE_CHANGES = ["added", "edited", "deleted", "renamed", "mode", "replaced"] as const;
/** `mode`: only the permission bits changed. `replaced`: it became something of another type. */
export type FileChange = (typeof FILE_CHANGES)[number];

/** One path that a call changed, or would change. */
export interface FileEffect {
  /** Relative to the workspace, with `/` between its parts. */
  path: string;
  change: FileChange;
  /** Of a rename: where it was before. */
  from?: string;
  before?: FileState;
  after?: FileState;
  /** Of a text: unified diff, secrets redacted; left out for binary content and where the whole became too long. */
  diff?: string;
  /** Anything a person should know about it, such as that a hard link was cut. */
  note?: string;
}

/** Everything a call changed in its workspace, as it was committed or would be. */
export interface FileEffects {
  /** The workspace. */
  root: string;
  /** Sorted by path; at most as many as the record holds. */
  files: FileEffect[];
  /** How many more there are than listed. */
  omitted: number;
  /** True when a diff was left out or cut because all together became too long. */
  diffsCut: boolean;
  /** SHA-256 over the canonical list of every path with its before and after states, the omitted ones included. */
  digest: string;
}
