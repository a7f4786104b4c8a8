import { canonicalJson, type FileState, type JsonObject } from "@sallyport/protocol";
import type { Change } from "./change.ts";
import { type Entry, isKnown, stateOf } from "./entry.ts";
import { sha256 } from "./file-content.ts";

/** SHA-256 over paths and what is at them, sorted by path. */
export function proofOf(found: ReadonlyMap<string, Entry | undefined>): string {
  const states = [...found].map(([path, entry]) => ({ path, ...(entry && { now: plain(nowOf(entry)) }) }));
  return sha256(canonicalJson(states.sort((left, right) => (left.path < right.path ? -1 : 1))));
}

function nowOf(entry: Entry): Omit<FileState, "type"> & { type: string } {
  return isKnown(entry) ? stateOf(entry) : { type: entry.type, mode: entry.mode };
}

/** SHA-256 over every path that changes, with its states before and after. The same changes give the same digest. */
export function digestOf(changes: readonly Change[]): string {
  const states = changes.map(({ path, before, after }) => ({
    path,
    ...(before && { before: plain(stateOf(before)) }),
    ...(after && { after: plain(stateAfter(after)) }),
  }));
  return sha256(canonicalJson(states));
}

/** What a record says of a path after a change. */
export function stateAfter({ type, mode, bytes, sha256, target }: FileState): FileState {
  return {
    type,
    mode,
    ...(bytes !== undefined && { bytes }),
    ...(sha256 !== undefined && { sha256 }),
    ...(target !== undefined && { target }),
  };
}

function plain(state: Omit<FileState, "type"> & { type: string }): JsonObject {
  return { ...state };
}
