import type { FileState } from "@sallyport/protocol";
import type { Entry, KnownEntry } from "./entry.ts";

/** Whether what is there now is what a record says: type, bits and content; by size and time where it is unreadable. */
export function matches(
  now: Entry | undefined,
  state: (FileState & { mtimeNs: string }) | undefined,
): boolean {
  if (now === undefined || state === undefined) return now === state;
  if (now.type !== state.type) return false;
  if (now.type === "symlink") return now.target === state.target;
  if (now.mode !== state.mode) return false;
  if (now.type === "folder") return true;
  if (now.bytes !== state.bytes) return false;
  if (now.sha256 !== undefined && state.sha256 !== undefined) return now.sha256 === state.sha256;
  return sameMoment(now.mtimeNs, state.mtimeNs);
}

/** To the microsecond: finer than that no time can be set from here. */
export function sameMoment(left: string, right: string): boolean {
  return BigInt(left) / 1_000n === BigInt(right) / 1_000n;
}

/** Whether it is the same file with the same content, as far as its stamps tell. A new name for it changes nothing. */
export function isUntouched(now: Entry | undefined, before: KnownEntry | undefined): boolean {
  if (now === undefined || before === undefined) return now === before;
  if (now.type !== before.type || now.inode !== before.inode) return false;
  if (now.type === "folder") return true;
  return now.mode === before.mode && now.bytes === before.bytes && now.mtimeNs === before.mtimeNs;
}
