import type { ApprovalReader, ApprovalWrite } from "./approvals.ts";
import type { AuditLink, AuditReader } from "./audit-log.ts";
import type { CallbackReader, CallbackWrite } from "./callbacks.ts";
import type { CallClosing, CallIntent, CallReader, CallRecord } from "./calls.ts";
import type { GrantReader, GrantUse, GrantWrite } from "./grants.ts";
import type { OutboxMessage, OutboxReader } from "./outbox.ts";
import type { QueuedCall, QueueReader } from "./queue.ts";
import type { StateReader, StateWrites } from "./state.ts";
import type { Revocation, RevocationReader } from "./tokens.ts";
import type { ToolReader, ToolWrite } from "./tool-records.ts";

/**
 * Everything one step of a call changes, as data. A store applies all of it or none of it, so that nothing is done
 * without being on record, nor on record without being done.
 */
export interface UnitOfWork {
  tenant: string;
  /** Puts a call into the journal: one that waits for approval or room, an intent, or one that is finished already. */
  open?: CallRecord;
  /** With an `open` of phase `queued`: its place in the queue, and everything it takes to run it later. */
  enqueue?: QueuedCall & { order: string };
  /** Makes a waiting or queued call the intent to run, with what is known of it now. It keeps its place and its key. */
  begin?: CallIntent;
  /** Ends a call that is in the journal and still open, waiting and queued ones included. */
  close?: CallClosing;
  state?: StateWrites;
  tools?: ToolWrite[];
  approvals?: ApprovalWrite[];
  grants?: GrantWrite[];
  grantUses?: GrantUse[];
  revocations?: Revocation[];
  callbacks?: CallbackWrite[];
  /** Bodies of audit events in canonical JSON, to be linked to the tenant's chain in this order. */
  events: string[];
  outbox: OutboxMessage[];
}

/** Why a unit was not applied. Nothing of it was. */
export type Conflict =
  | { kind: "idempotency"; existing: CallRecord }
  | { kind: "duplicate_call" }
  | { kind: "not_open" }
  | { kind: "not_waiting" }
  | { kind: "approval"; approvalId: string }
  | { kind: "grant"; grantId: string }
  | { kind: "callback"; callId: string }
  | { kind: "state"; keys: string[] };

export type CommitResult = { ok: true; links: AuditLink[] } | { ok: false; conflict: Conflict };

/**
 * The one store behind a Sallyport: journal, queue, state, approvals, grants, audit, outbox, callbacks and tools, with
 * one unit of work over all.
 * A method rejects only when the store itself is lost; refusals are values.
 */
export interface Store {
  /**
   * Resolves once the unit is durable. A rejection whose failure says `unanswered: true` in its details leaves it open
   * whether the unit is there or still will be: ask the journal. Any other means that it was not written and will not be.
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
  /** Finishes what is under way, then lets go of everything. Later use rejects. */
  close(): Promise<void>;
}
