import type { AuditLink, AuditReader } from "./audit-log.ts";
import type { CallClosing, CallReader, CallRecord } from "./calls.ts";
import type { OutboxMessage, OutboxReader } from "./outbox.ts";
import type { StateReader, StateWrites } from "./state.ts";
import type { ToolReader, ToolWrite } from "./tool-records.ts";

/**
 * Everything one step of a call changes, as data. A store applies all of it or none of it, so that nothing is done
 * without being on record, nor on record without being done.
 */
export interface UnitOfWork {
  tenant: string;
  /** Puts a call into the journal; an intent when it has no closing, a finished call when it has one. */
  open?: CallRecord;
  /** Ends a call that is in the journal and still open. */
  close?: CallClosing;
  state?: StateWrites;
  tools?: ToolWrite[];
  /** Bodies of audit events in canonical JSON, to be linked to the tenant's chain in this order. */
  events: string[];
  outbox: OutboxMessage[];
}

/** Why a unit was not applied. Nothing of it was. */
export type Conflict =
  | { kind: "idempotency"; existing: CallRecord }
  | { kind: "duplicate_call" }
  | { kind: "not_open" }
  | { kind: "state"; keys: string[] };

export type CommitResult = { ok: true; links: AuditLink[] } | { ok: false; conflict: Conflict };

/**
 * The one store behind a Sallyport: journal, state, audit, outbox and tools, with one unit of work over all.
 * A method rejects only when the store itself is lost; refusals are values.
 */
export interface Store {
  /** Resolves once the unit is durable. After a rejection the unit may or may not be there: ask the journal. */
  commit(unit: UnitOfWork): Promise<CommitResult>;
  readonly calls: CallReader;
  readonly state: StateReader;
  readonly audit: AuditReader;
  readonly outbox: OutboxReader;
  readonly tools: ToolReader;
  /** Finishes what is under way, then lets go of everything. Later use rejects. */
  close(): Promise<void>;
}
