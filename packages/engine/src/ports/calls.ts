import type { CallAnswer, CallStatus, Priority, SideEffects } from "@sallyport/protocol";

/**
 * Where a call stands in the journal. `waiting`: a person has to approve it first; nothing has run. `queued`: accepted to
 * run when there is room; nothing has run. `executing`: its intent is durable and nothing more is known.
 * `unknown`: the process ended while it ran and a person has to close it. `closed`: it has an answer.
 */
export type CallPhase = "waiting" | "queued" | "executing" | "unknown" | "closed";

/** What the journal knows of a call before it runs. */
export interface CallIntent {
  callId: string;
  tenant: string;
  agent: string;
  user?: string;
  session?: string;
  tool: string;
  version: string;
  operation: string;
  manifestHash: string;
  sideEffects: SideEffects;
  /** The input as JSON, secrets redacted. */
  input: string;
  inputHash: string;
  idempotencyKey?: string;
  /** With a key: digest of everything the caller asked for, because a key answers only the same request again. */
  requestDigest?: string;
  /** Who wants to be told how it ended. */
  callbackUrl?: string;
  /** Its caller does not wait for it; left out: it does. */
  asyncMode?: boolean;
  /** Left out: normal. */
  priority?: Priority;
  /** The run of the process that holds the call. */
  owner: string;
  attempt: number;
  startedAt: number;
}

export interface CallRecord extends CallIntent {
  phase: CallPhase;
  closing?: ClosedWith;
}

export interface ClosedWith {
  status: CallStatus;
  closedAt: number;
  /** Digest of the output, for the receipt; absent when there was none. */
  outputHash?: string;
  /** Given to the store without a receipt; the store fills it in on every read. */
  answer: CallAnswer;
}

/** `owner` may differ from the intent's: a later run of the process, or a person, closes what a crash left open. */
export interface CallClosing {
  callId: string;
  phase: "unknown" | "closed";
  /** Only while the call is in this phase; in any other it is not open to this (`not_open`). */
  from?: CallPhase;
  /** Absent only when the phase becomes `unknown`. */
  closing?: ClosedWith;
}

export interface CallFilter {
  tenant?: string;
  agent?: string;
  tool?: string;
  status?: CallStatus;
  phase?: CallPhase;
  /** Only calls older than this one, for paging from new to old. */
  before?: string;
  limit: number;
}

/** Reads the journal. Every answer carries the receipt of the call's last event. */
export interface CallReader {
  get(callId: string): Promise<CallRecord | undefined>;
  byIdempotencyKey(key: { tenant: string; agent: string; key: string }): Promise<CallRecord | undefined>;
  /** Newest first. */
  list(filter: CallFilter): Promise<CallRecord[]>;
}
