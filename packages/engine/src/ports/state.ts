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
  /**
   * `undefined` deletes the key. `existed`: the snapshot had a value, so that a key without one now is a conflict, also
   * when the snapshot was released and the store has forgotten the deletion.
   */
  writes: { key: string; value: JsonValue | undefined; existed?: boolean }[];
}

/** Reads transactional state. Writing happens only through a unit of work. */
export interface StateReader {
  /** Pins the scope as it is now until the snapshot is released. */
  open(scope: StateScope): Promise<StateSnapshot>;
  get(snapshot: StateSnapshot, key: string): Promise<StateEntry | undefined>;
  /** Keys that start with `prefix`, in the order of `byCodePoint`, at most `limit`. */
  keys(snapshot: StateSnapshot, query: { prefix: string; limit: number }): Promise<string[]>;
  /** How many entries this call has written; a rolled-back call must have none. */
  writtenBy(scope: StateScope, callId: string): Promise<number>;
  /** Lets the store forget what only this snapshot could still see. Never fails. */
  release(snapshot: StateSnapshot): void;
}

/** A tool's own keys and values, as its execution sees them. */
export interface StateAccess {
  get(key: string): Promise<JsonValue | undefined>;
  put(key: string, value: JsonValue): Promise<void>;
  delete(key: string): Promise<void>;
  /** Sorted. */
  keys(prefix: string): Promise<string[]>;
}

/** The order databases keep text in; plain comparison would put U+FFFF after an emoji. */
export function byCodePoint(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
