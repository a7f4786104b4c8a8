import type { CallAnswer, CallStatus, Priority, SideEffects } from "@sallyport/protocol";

/**
 * Where a call stands in the journal. `waiting`: a person has to approve it first; nothing has run. `queued`: accepted to
 * run when there is room; nothing has run. `executing`: its intent is durable and nothing more is known.
 * `unknown`: the process ended while it ran and a person has to close it. `closed`: it has an answer.
 */
export type CallPhase = "waiting" | "queued" | "executing" | "unknown" | "closed";

/** Which call it is: who asked for what. Every record of a call holds it. */
export interface CallIdentity {
  callId: string;
  tenant: string;
  agent: string;
  user?: string;
  session?: string;
  tool: string;
  /** `*` until the tool is resolved, where the caller named none. */
  version: string;
  /** Empty until the tool is resolved, where the caller named none. */
  operation: string;
}

/** What the journal knows of a call before it runs. */
export interface CallIntent extends CallIdentity {
  manifestHash: string;
  sideEffects: SideEffects;
  /** The input as JSON, secrets redacted. */
  input: string;
  inputHash: string;
  idempotencyKey?: string;
  /** With a key: digest of everything the caller asked for, because a key answers only the same request again. */
  requestDigest?: string;
  /** Where its end is reported. */
  callbackUrl?: string;
  /** The caller does not wait for the answer. */
  asyncMode?: boolean;
  /** Left out: normal. */
  priority?: Priority;
  /** The instance that holds the call. */
  owner: string;
  /** The run that may write to the executing call; absent while it has not begun. Each retry has its own. */
  runId?: string;
  /** The folder that files of the call are staged in, by its id; only the process that has it can take them back. */
  stagedIn?: string;
  attempt: number;
  startedAt: number;
  /** Stored grants whose uses were counted when it began. */
  grants?: string[];
}

export interface CallRecord extends CallIntent {
  phase: CallPhase;
  /** Somebody asked to end it while it executed. */
  cancelReason?: string;
  closing?: ClosedWith;
}

export interface ClosedWith {
  status: CallStatus;
  closedAt: number;
  /** Digest of the output, for the receipt; absent when there was none. */
  outputHash?: string;
  /** Given to the store without a receipt; the store fills it in on every read. */
  answer: CallAnswer;
  /** Absent when nobody was running the call that is closed. */
  timeline?: CallTimeline;
}

/** How long a stage of the passage took, in which attempt. */
export interface StageTime {
  stage: string;
  attempt: number;
  ms: number;
}

/** What the authority decided of an attempt. */
export interface DecisionMade {
  attempt: number;
  outcome: "allow" | "ask" | "deny";
  reason: string;
  rules: string[];
  policyVersion: string;
}

/** Where a call spent its time and what was decided about it; bounded, so that it never outweighs the call. */
export interface CallTimeline {
  stages: StageTime[];
  decisions: DecisionMade[];
}

/** Ends a call. Anybody may: a later run of the process, or a person, closes what a crash left open. */
export interface CallClosing {
  callId: string;
  phase: "unknown" | "closed";
  /**
   * The phase the call must be in; otherwise the unit is refused (`not_open`). Left out: any but `unknown`, because the
   * verdict on a call stands against whoever ran it.
   */
  from?: CallPhase;
  /** Absent only when the phase becomes `unknown`. */
  closing?: ClosedWith;
}

/**
 * A row's place in a list: by time, then by id. A row never changes its place, so a reader that pages from new to old
 * meets every row that was there when it began, and each once, in whatever order processes commit.
 */
export interface ListPlace {
  at: number;
  id: string;
}

export interface CallFilter {
  tenant?: string;
  agent?: string;
  tool?: string;
  status?: CallStatus;
  phase?: CallPhase;
  /** Only calls behind this place (`startedAt`, `callId`), for paging from new to old. */
  before?: ListPlace;
  limit: number;
}

/** Reads the journal. Every answer carries the receipt of the call's last event. */
export interface CallReader {
  get(callId: string): Promise<CallRecord | undefined>;
  byIdempotencyKey(key: { tenant: string; agent: string; key: string }): Promise<CallRecord | undefined>;
  /** By `startedAt`, newest first, then by id. A call keeps the time it was opened with when it begins. */
  list(filter: CallFilter): Promise<CallRecord[]>;
}

/** A call that was accepted and runs when there is room for it. Nothing of it has run. */
export interface QueuedCall extends Pick<CallIdentity, "callId" | "tenant" | "agent" | "tool"> {
  priority: Priority;
  queuedAt: number;
}

/** Reads the accepted calls. A call enters by the unit that opens it, and leaves by the one that begins or closes it. */
export interface QueueReader {
  /** Everything it takes to run the call; undefined when it is not queued. */
  order(callId: string): Promise<string | undefined>;
  /** How many calls are queued. */
  size(): Promise<number>;
}

export const CALLBACK_STATES = ["due", "delivered", "given_up"] as const;
export type CallbackState = (typeof CALLBACK_STATES)[number];

/** A webhook for the end of a call, and the state of its delivery. */
export interface Callback {
  callId: string;
  tenant: string;
  url: string;
  state: CallbackState;
  /** Deliveries begun so far; each write counts on from the one it was made on. */
  attempts: number;
  /**
   * When to try next, by the store's clock. While a delivery is under way: when others may take it for lost. A new one is
   * due at once, whatever the clock of its writer says.
   */
  dueAt: number;
  /** Why the last delivery failed. */
  problem?: string;
}

export interface CallbackWrite {
  callback: Callback;
  /** The number of attempts the change was made on; undefined for a new one. */
  expect?: number;
}

export interface CallbackReader {
  ofCall(callId: string): Promise<Callback | undefined>;
}
