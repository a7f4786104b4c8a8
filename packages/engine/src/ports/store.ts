import type { Failure } from "@sallyport/protocol";
import type { ApprovalReader, ApprovalWrite } from "./approvals.ts";
import type { Blobs } from "./blobs.ts";
import type {
  CallbackReader,
  CallbackWrite,
  CallClosing,
  CallIntent,
  CallReader,
  CallRecord,
  QueuedCall,
  QueueReader,
} from "./calls.ts";
import type { Instances, WorkClaims } from "./fleet.ts";
import type { GrantReader, GrantUse, GrantWrite, Revocation, RevocationReader } from "./grants.ts";
import type { EventBatch, OutboxReader } from "./outbox.ts";
import type { RecordReader, RecordWrite } from "./records.ts";
import type { StateReader, StateWrites } from "./state.ts";
import type { ToolReader, ToolWrite } from "./tools.ts";

/** Which run of a call writes. A run id is never used twice. */
export interface Fence {
  callId: string;
  runId: string;
}

/** Everything one step of a call changes, as data. A store applies all of it or none of it. */
export interface UnitOfWork {
  /** A store applies an id once, so a unit without an answer is sent again. Left out: it is applied each time it is sent. */
  id?: string;
  tenant: string;
  /** The strand of the tenant's audit chain that takes the link: the slot of the instance's lease. Left out: 0. */
  strand?: number;
  /** The call must be executing under this run id; otherwise the unit is refused (`fenced`). Checked before anything else. */
  fence?: Fence;
  /** Puts a call into the journal: one that waits for approval or room, an intent, or one that is finished already. */
  open?: CallRecord;
  /** With an `open` of phase `queued`: its place in the queue, and everything it takes to run it later. */
  enqueue?: QueuedCall & {
    order: string;
    /** The instance that takes the call up at once. Left out: any instance may claim it. */
    claimedBy?: string;
  };
  /** Makes a waiting or queued call the intent to run, with what is known of it now. It keeps its place and its key. */
  begin?: CallIntent;
  /** With a fence: the executing call is tried again, under a run id of its own (`not_open` when it is not executing). */
  rerun?: { callId: string; runId: string; attempt: number };
  /** Ends a call that is in the journal and still open, waiting and queued ones included. */
  close?: CallClosing;
  /** Asks whoever executes the call to end it (`not_open` when it is not executing). The first reason stays. */
  cancel?: { callId: string; reason: string };
  state?: StateWrites;
  tools?: ToolWrite[];
  approvals?: ApprovalWrite[];
  grants?: GrantWrite[];
  grantUses?: GrantUse[];
  /** Uses to give back: those of a call that never started. */
  returnedUses?: { grantId: string; callId: string }[];
  revocations?: Revocation[];
  callbacks?: CallbackWrite[];
  records?: RecordWrite[];
  /** The body of the unit's audit link in canonical JSON, with all of its events. Left out: nothing goes on record. */
  audit?: string | undefined;
  /** Events for the sinks, in order. */
  outbox?: EventBatch;
}

/**
 * Why a unit was not applied. Nothing of it was. Found in this order: fence, open, begin, rerun, close, cancel, approvals,
 * grants, uses of grants, callbacks, tools, records, state.
 */
export type Conflict =
  | { kind: "fenced" }
  | { kind: "idempotency"; existing: CallRecord }
  | { kind: "duplicate_call" }
  | { kind: "not_open" }
  | { kind: "not_waiting" }
  | { kind: "approval"; approvalId: string }
  | { kind: "grant"; grantId: string }
  /** A use beyond the grant's limit; `freeAt` is when the next one is possible, absent when none ever will be. */
  | { kind: "grant_spent"; grantId: string; freeAt?: number }
  | { kind: "callback"; callId: string }
  | { kind: "tool"; tool: string; version: string }
  | { kind: "record"; of: string; id: string }
  | { kind: "state"; keys: string[] };

/** `link` is that of the unit's audit body; absent when it has none. */
export type CommitResult = { ok: true; link?: AuditLink } | { ok: false; conflict: Conflict };

/** A store remembers the ids of at least this many units that it applied last. */
export const REMEMBERED_UNITS = 65_536;

/**
 * The one store: journal, queue, state, approvals, grants, audit, outbox, callbacks, records and tools, with one unit of
 * work over all. A method rejects only when the store itself is lost; refusals are values. Every time that a claim or a
 * lease is compared with is of the store's own clock.
 */
export interface Store {
  /** Whether other processes may use the store at the same time. Where they cannot, leases need no renewal. */
  readonly isShared: boolean;
  /**
   * Resolves once the unit is durable. A unit whose id was applied already is not applied again: the result is that of the
   * first time. A rejection with `unanswered: true` in the failure's details leaves open whether the unit was, or will be,
   * written: send it again. Any other rejection means that it was not written and will not be.
   */
  commit(unit: UnitOfWork): Promise<CommitResult>;
  readonly calls: CallReader;
  readonly state: StateReader;
  readonly audit: AuditReader;
  readonly outbox: OutboxReader;
  readonly tools: ToolReader;
  readonly approvals: ApprovalReader;
  readonly grants: GrantReader;
  readonly revocations: RevocationReader;
  readonly queue: QueueReader;
  readonly callbacks: CallbackReader;
  readonly records: RecordReader;
  readonly instances: Instances;
  readonly work: WorkClaims;
  /** Writes something that changes nothing; rejects when nothing can be written. Left out where writing cannot fail. */
  probe?(): Promise<void>;
  /** Finishes what is under way, then lets go of everything. Later use rejects. */
  close(): Promise<void>;
}

/** Where a unit stands in its tenant's record. A strand is a chain of its own; sequences count from 1. */
export interface AuditLink {
  strand: number;
  sequence: number;
  hash: string;
}

/** A link as it is kept, with the unit's body in canonical JSON. */
export interface AuditEntry extends AuditLink {
  body: string;
}

/** The units of a strand that are in the archive and no longer in the store, by the last of them. */
export interface ArchivedSpan extends AuditLink {
  /** The unit before them. Left out where they begin with the first one. */
  after?: Pick<AuditLink, "sequence" | "hash">;
}

/** A month of the audit record that was taken to the archive, or could not be. */
export interface ArchivedPart {
  /** The month it was written in, such as `2026-08`. */
  month: string;
  /** Its blob; absent when nothing was written in that month, or it was not put. */
  name?: string;
  units: number;
  /** Why the month is still in the store. */
  problem?: Failure;
}

/** How far the work on a month is: so many units. */
export interface ArchiveProgress {
  month: string;
  step: "check" | "write" | "read back";
  units: number;
}

export interface ArchiveOrder {
  blobs: Blobs;
  /** Months that ended less than so long ago stay. */
  keepMs: number;
  /** Ends the work: the month under way stays, to be gone on with another time. */
  signal?: AbortSignal | undefined;
  /** Also tries months again that failed a short while ago. */
  isUrgent?: boolean;
  /** Checks the months and moves none. */
  isTrial?: boolean;
  onProgress?(progress: ArchiveProgress): void;
}

/** A month that is old enough for the archive and still in the store. */
export interface WaitingMonth {
  month: string;
  /** By the statistics of the database. */
  units: number;
  /** Whether its export is in its place already. */
  isWritten: boolean;
  /** Why it could not be moved the last time, how often that was, and when it is tried again, in Unix milliseconds. */
  problem?: string;
  tries: number;
  retryAt: number;
}

/** What waits for the archive, the oldest first, and what went there last. */
export interface ArchiveState {
  waiting: WaitingMonth[];
  last?: { month: string; name?: string; units: number; at: number };
}

/** What a store can do beside its port: move the oldest part of its audit record to where it is kept for years. */
export interface AuditArchiver {
  /**
   * Moves whole months, the oldest first. A month leaves the store only after its export was verified, put and read back.
   * One that cannot be moved has a `problem`, stays and stops no other. Resolves with what was done until the signal came;
   * empty while another process is at it. Rejects when the store is lost.
   */
  archiveAudit(order: ArchiveOrder): Promise<ArchivedPart[]>;
  archiveState(keepMs: number): Promise<ArchiveState>;
}

/**
 * Reads the tamper-evident record. Appending happens only through a unit of work. Every row that a table holds is of a
 * tenant and strand that are named here, or among the `strays`.
 */
export interface AuditReader {
  tenants(): Promise<string[]>;
  /** The strands that a tenant has units or heads of, in order, forged ones included. */
  strands(tenant: string): Promise<number[]>;
  /** Rows that no reading gives, because they were not written by a store, in words. Left out where there can be none. */
  strays?(): Promise<string[]>;
  /** The newest link of each strand of a tenant, as the store remembers them beside the entries, by strand. */
  heads(tenant: string): Promise<AuditLink[]>;
  /** What is in the archive: strands go on behind it. Left out where nothing is archived. */
  archived?(tenant: string): Promise<ArchivedSpan[]>;
  /**
   * The entries of one strand in sequence order, after the given sequence (-Infinity: from the first on), at most `limit`;
   * where forged rows stand beside the last one, with these.
   */
  read(tenant: string, page: { strand: number; after: number; limit: number }): Promise<AuditEntry[]>;
}

/**
 * For implementers of a store: throws a RangeError for a unit that no store may apply, before anything is written. What it
 * finds is a mistake of the writer, never a race.
 */
export function requireValidUnit(unit: UnitOfWork): void {
  requireQueuedTogether(unit);
  for (const { record, expect } of unit.approvals ?? []) requireNext(record.approvalId, record, expect);
  for (const { record, expect } of unit.grants ?? []) requireNext(record.grantId, record, expect);
  for (const { record, expect } of unit.tools ?? [])
    requireNext(`${record.manifest.id} ${record.manifest.version}`, record, expect);
  for (const { callback, expect = 0 } of unit.callbacks ?? []) {
    const { callId, attempts } = callback;
    if (attempts < expect)
      throw new RangeError(`The callback of ${callId} counts ${attempts} attempts after ${expect}.`);
  }
  for (const { kind, id, body } of unit.records ?? [])
    for (const text of [kind, id, body ?? ""])
      if (!text.isWellFormed() || text.includes("\0"))
        throw new RangeError(`The record ${id} is not well-formed text without U+0000.`);
}

/** A call is opened as queued and given its place by the same unit, or neither. */
function requireQueuedTogether({ open, enqueue }: UnitOfWork): void {
  const queued = open?.phase === "queued" ? open.callId : undefined;
  if (queued === enqueue?.callId) return;
  if (enqueue === undefined)
    throw new RangeError(`The unit opens the call ${queued} as queued and gives it no place in the queue.`);
  throw new RangeError(`The unit queues the call ${enqueue.callId} and does not open it as queued.`);
}

/** The revision that is written follows the one the write expects. */
function requireNext(id: string, { revision }: { revision: number }, expect: number | undefined): void {
  if (revision === (expect ?? 0) + 1) return;
  const write = `The write of ${id} on revision ${expect ?? "none"}`;
  throw new RangeError(`${write} calls itself revision ${revision}.`);
}
