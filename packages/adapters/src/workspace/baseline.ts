import type { Entry } from "./entry.ts";

/** What the call found, by which others' changes show. */
export interface Baseline {
  /**
   * What speaks against `now` being what the call found at that path, in words; undefined when nothing does.
   * `now` is undefined when there is nothing at the path any more.
   */
  objection(path: string, now: Entry | undefined): Promise<string | undefined>;
}

export const EDITED = "edited by someone else";
export const CREATED = "created by someone else";
export const DELETED = "deleted by someone else";

/** Marks by which an entry shows that it changed, without reading it. */
export type Stamp = Pick<Entry, "type" | "mode" | "inode" | "mtimeNs" | "ctimeNs" | "bytes">;

/** Whether nothing happened to an entry. Of a folder: to itself; what is in it does not matter. */
export function sameStamp(left: Stamp, right: Stamp): boolean {
  const self = left.type === right.type && left.mode === right.mode && left.inode === right.inode;
  if (left.type === "folder") return self;
  return (
    self && left.bytes === right.bytes && left.mtimeNs === right.mtimeNs && left.ctimeNs === right.ctimeNs
  );
}

/** What a change of others is called. */
export function whatChanged(before: object | undefined, now: object | undefined): string {
  if (before === undefined) return CREATED;
  return now === undefined ? DELETED : EDITED;
}
