import type { UseLimit, Work, WorkKind } from "@sallyport/engine/ports";
import type { Failure } from "@sallyport/protocol";
import type { Refusal } from "../store-rows/writes.ts";

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
  /** The body of the unit's audit link, on one line; null when it has none. */
  audit: string | null,
  outbox: OutboxJob | null,
  begin: BegunCall | null,
  permits: PermitJob | null,
  uses: GrantUse[] | null,
  enqueue: QueuedCells | null,
  callbacks: CallbackRow[] | null,
  /** The only phase in which the call may be closed; null for any. */
  closeFrom: string | null,
  returned: ReturnedUse[] | null,
  /** The unit's id; null for a unit that is applied each time. */
  id: string | null,
  records: RecordJob | null,
  run: RunJob | null,
  /** The strand that takes the audit link. */
  strand: number,
];

/** What a unit says about the run of an executing call; empty in units that begin nothing and end nothing. */
export interface RunJob {
  fence?: [callId: string, runId: string];
  rerun?: [callId: string, runId: string, attempt: number];
  /** The reason is JSON text. */
  cancel?: [callId: string, reason: string];
}

/** The cells of a journal row in the order of INSERT_CALL, without the receipt. */
export type OpenedCall = [callId: string, tenant: string, agent: string, key: string | null, ...rest: Cell[]];

/** The cells of BEGIN_CALL without the receipt: what the intent says of a call that waited or was queued. */
export type BegunCall = [callId: string, tenant: string, agent: string, key: string | null, ...rest: Cell[]];

export type ClosedCall = [
  callId: string,
  phase: string,
  status: Cell,
  completedAt: Cell,
  outputHash: Cell,
  answer: Cell,
  known: Cell,
  timeline: Cell,
];

/** The cells of ENQUEUE without the position, which is that of the call's journal row. */
export type QueuedCells = [
  callId: string,
  tenant: string,
  agent: string,
  tool: string,
  priority: string,
  queuedAt: number,
  order: string,
  urgency: number,
  claimedBy: string | null,
];

export interface StateJob {
  tenant: string;
  tool: string;
  callId: string;
  snapshotVersion: number;
  /** When it is written, by the store's clock. */
  at: number;
  retentionMs: number;
  writes: [key: string, value: string | null][];
  /** Those of the keys that the snapshot had a value for. */
  existed: string[];
}

/** A write of a version; `expect` is null for a new one. */
export interface ToolRow {
  definition: Cell[];
  version: [tool: string, version: string, ...rest: Cell[]];
  revision: number;
  expect: number | null;
}

/** What a unit decides about permission: one slot, empty in most units. */
export interface PermitJob {
  approvals: ApprovalRow[];
  grants: GrantRow[];
  revocations: [jti: string, record: string][];
}

/** `limit` is null for a use that is only counted. */
export type GrantUse = [grantId: string, at: number, callId: string | null, limit: UseLimit | null];

export type ReturnedUse = [grantId: string, callId: string];

/** A write of a record that counts its writes; `expect` is null for a new one. */
export interface Revised {
  id: string;
  revision: number;
  expect: number | null;
}

export interface ApprovalRow extends Revised {
  state: string;
  record: string;
  /** Taken for a new approval only. */
  of: [callId: string, tenant: string, createdAt: number];
  /** Undefined leaves the order that is kept, null forgets it. */
  order: string | null | undefined;
  expiresAt: number;
  /** Taken for a new approval only: 1 when its call goes on by itself. */
  unattended: number;
}

export interface GrantRow extends Revised {
  record: string;
  /** Taken for a new grant only. */
  counts: [uses: number, lastUsedAt: number | null];
}

/** A write of a callback; `expect` is null for a new one, otherwise the attempts it was made on. */
export interface CallbackRow {
  expect: number | null;
  cells: [
    callId: string,
    tenant: string,
    url: string,
    state: string,
    attempts: number,
    dueAt: number,
    problem: string | null,
  ];
}

/** A write of a record. `expect` is null for whatever is there; a body of null deletes the record. */
export interface RecordRow {
  kind: string;
  id: string;
  body: string | null;
  expiresAt: number | null;
  expect: number | null;
}

/** A unit's batch as text, and the list of the sinks it is for. */
export type OutboxJob = [sinks: string, batch: string];

/** The records of a unit, and when they are written, by the store's clock. */
export interface RecordJob {
  at: number;
  rows: RecordRow[];
}

export type DeliveredJob = [kind: "delivered", sink: string, ids: readonly string[]];

/** Writes the schema's version anew, to see whether anything can be written. */
export type ProbeJob = [kind: "probe"];

/** Takes or renews the lease of an instance; null leaves what it says of itself. */
export type RenewJob = [kind: "renew", instance: string, ttlMs: number, about: string | null];

export type LeaveJob = [kind: "leave", instance: string];

export type ClaimJob = [
  kind: "claim",
  of: WorkKind,
  instance: string,
  limit: number,
  holdMs: number,
  except: string[],
];

export type ReleaseJob = [kind: "release", of: "queued" | "approved", instance: string, ids: string[]];

/** What instances do beside units of work. */
export type FleetJob = RenewJob | LeaveJob | ClaimJob | ReleaseJob;

export type Job = UnitJob | DeliveredJob | ProbeJob | FleetJob;

/** What became of one job. Nothing of it was written unless it is `applied`, `lease` or `claimed`. */
export type Outcome =
  /** With the unit's link; 0 and no hash when it has no audit body. */
  | [kind: "applied", sequence: number, hash: string, strand: number]
  | [kind: "lease", slot: number, expiresAt: number]
  | [kind: "claimed", pieces: Work[WorkKind][]]
  | [kind: "idempotency", callId: string]
  | Refusal
  | [kind: "failed", failure: Failure];

export type ToWriter = { kind: "batch"; jobs: Job[] } | { kind: "close" };

export type FromWriter =
  | { kind: "ready" }
  | { kind: "refused"; failure: Failure }
  | { kind: "done"; outcomes: Outcome[] };
