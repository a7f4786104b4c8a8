import { failure, type JsonValue, SallyportError } from "@sallyport/protocol";

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
  /**
   * The scope as it is now. What the snapshot sees is kept for the store's retention: the longest call and an hour. Later
   * a read of what is gone rejects with E3704; it never shows anything else than was there.
   */
  open(scope: StateScope): Promise<StateSnapshot>;
  get(snapshot: StateSnapshot, key: string): Promise<StateEntry | undefined>;
  /** Keys that start with `prefix`, in the order of `byCodePoint`, at most `limit`. */
  keys(snapshot: StateSnapshot, query: { prefix: string; limit: number }): Promise<string[]>;
  /** How many entries this call has written, as far as they are kept; a rolled-back call must have none. */
  writtenBy(scope: StateScope, callId: string): Promise<number>;
}

/** How long stores keep what a snapshot sees, unless told otherwise: a call may take a day. */
export const STATE_RETENTION_MS = 25 * 3_600_000;

/** The exception for a read through a snapshot that the store has forgotten something of. */
export function snapshotGone({ tenant, tool }: StateScope): SallyportError {
  return new SallyportError(
    failure("E3704", {
      message: `The call has run longer than the store keeps the state of ${tool} (tenant ${tenant}) as it was.`,
      advice: "Repeat the call, or let the store keep state longer (`stateRetentionMs`).",
    }),
  );
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
