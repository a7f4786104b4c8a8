import type { Failure } from "@sallyport/protocol";

/**
 * What goes between the store and its writer thread. Tuples of text and numbers, because copying those between
 * threads is what a commit costs most on the main thread.
 */
export type Cell = string | number | null;

export type UnitJob = [
  kind: "unit",
  tenant: string,
  open: OpenedCall | null,
  close: ClosedCall | null,
  state: StateJob | null,
  tools: ToolRow[] | null,
  events: string[],
  /** Lines "type callId". */
  outbox: string[],
];

/** The cells of a journal row in the order of INSERT_CALL, without the receipt. */
export type OpenedCall = [callId: string, tenant: string, agent: string, key: string | null, ...rest: Cell[]];

export type ClosedCall = [
  callId: string,
  phase: string,
  status: Cell,
  completedAt: Cell,
  outputHash: Cell,
  answer: Cell,
];

export interface StateJob {
  tenant: string;
  tool: string;
  callId: string;
  snapshotVersion: number;
  /** Versions that open snapshots stand on. */
  pins: number[];
  writes: [key: string, value: string | null][];
}

export interface ToolRow {
  definition: Cell[];
  version: Cell[];
}

export type DeliveredJob = [kind: "delivered", position: number];

export type Job = UnitJob | DeliveredJob;

/** What became of one job. Nothing of it was written unless it is `applied`. */
export type Outcome =
  | [kind: "applied", firstSequence: number, hashes: string[]]
  | [kind: "duplicate_call"]
  | [kind: "idempotency", callId: string]
  | [kind: "not_open"]
  | [kind: "state", keys: string[]]
  | [kind: "failed", failure: Failure];

export type ToWriter = { kind: "batch"; jobs: Job[] } | { kind: "close" };

export type FromWriter =
  | { kind: "ready" }
  | { kind: "refused"; failure: Failure }
  | { kind: "done"; outcomes: Outcome[] };
