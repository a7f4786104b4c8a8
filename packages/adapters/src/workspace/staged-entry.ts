import type { Content } from "./change.ts";

/**
 * One line of what a call left, whichever way it worked: what an overlay's upper folder holds, how a copied view differs,
 * or what was staged in memory. Parents come before what is in them.
 */
export interface StagedEntry {
  path: string;
  type: "file" | "folder" | "symlink" | "whiteout" | "fifo" | "socket" | "device";
  mode: number;
  bytes: number;
  blocks: number;
  mtimeNs: string;
  target?: string;
  content?: Content;
  /** Of a folder: what the workspace has in it is gone, but for what is listed. */
  opaque?: boolean;
  /** Of a file with several names: the same for all of them. */
  inode?: string;
  /** Why it can never be committed, such as a name that is not text. */
  unfit?: string;
}
