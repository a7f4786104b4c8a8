import type { JsonValue } from "@sallyport/protocol";

/** Whose state: a tool sees only its own, per tenant. */
export interface StateScope {
  tenant: string;
  tool: string;
}

/** A moment of a scope: reads through it never see anything committed later. */
export interface StateSnapshot {
  readonly scope: StateScope;
  readonly version: number;
}

export interface StateEntry {
  value: JsonValue;
  /** The scope's version that wrote it. */
  version: number;
}

export interface StateWrites {
  scope: StateScope;
  callId: string;
  /** The snapshot the writes are based on: a key written since then is a conflict. */
  snapshotVersion: number;
  /** `undefined` deletes the key. */
  writes: { key: string; value: JsonValue | undefined }[];
}

/** Reads transactional state. Writing happens only through a unit of work. */
export interface StateReader {
  /** Pins the scope as it is now until the snapshot is released. */
  open(scope: StateScope): Promise<StateSnapshot>;
  get(snapshot: StateSnapshot, key: string): Promise<StateEntry | undefined>;
  /** Keys that start with `prefix`, sorted, at most `limit`. */
  keys(snapshot: StateSnapshot, query: { prefix: string; limit: number }): Promise<string[]>;
  /** How many entries this call has written; a rolled-back call must have none. */
  writtenBy(scope: StateScope, callId: string): Promise<number>;
  /** Lets the store forget what only this snapshot could still see. Never fails. */
  release(snapshot: StateSnapshot): void;
}
