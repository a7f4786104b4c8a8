import type { JsonObject } from "@sallyport/protocol";
import type { ApprovalRecord } from "./approvals.ts";
import type { Callback, CallRecord, QueuedCall } from "./calls.ts";

/** The right of a process to hold calls and other work, until it expires by the store's clock. */
export interface Lease {
  instance: string;
  /** The lowest number that no other live instance had when the lease was taken. A live instance keeps its slot. */
  slot: number;
  expiresAt: number;
}

export interface InstanceRecord extends Lease {
  startedAt: number;
  /** What the process says of itself: host, process id, version. */
  about: JsonObject;
}

/** The processes that use the store. One that does not renew its lease in time counts as gone, until it renews it. */
export interface Instances {
  /** Takes or renews a lease of `ttlMs`, which may be Infinity. */
  renew(order: { instance: string; ttlMs: number; about?: JsonObject }): Promise<Lease>;
  /** Gives the lease up: whatever the instance holds can be claimed at once. */
  leave(instance: string): Promise<void>;
  isLive(instance: string): Promise<boolean>;
  /** The live ones, by slot. */
  list(): Promise<InstanceRecord[]>;
}

/** The work that can be claimed, and what a claim gives. */
export interface Work {
  /** Accepted calls, urgent ones first, then by (queuedAt, callId). Held as long as the instance is live. */
  queued: QueuedCall;
  /**
   * Approvals that a person has given to unattended calls, that are still good and nobody has spent, the oldest first.
   * Held as long as the instance is live. A write of an approval ends every claim on it.
   */
  approved: ApprovalRecord;
  /** Approvals, given or not, that nobody has reserved or spent and whose time is over, the oldest first. */
  expired_approval: ApprovalRecord;
  /** Reserved approvals whose holder is gone, or whose reservation has run out, the oldest first. */
  reservation: ApprovalRecord;
  /**
   * Executing calls whose owner is gone, the oldest first. The claimer becomes the owner and the call gets a new run id,
   * so that whatever the former owner still writes is fenced.
   */
  orphan: CallRecord;
  /** Calls that this instance executes and somebody asked to cancel. */
  cancel: CallRecord;
  /** Callbacks that are due, the longest overdue first: each counts one attempt more and is not due again for `holdMs`. */
  callback: Callback;
}

export type WorkKind = keyof Work;

/** What an instance holds by the record for as long as it lives: what it executes, and the work that it has claimed. */
export interface HeldWork extends Pick<Work, "queued" | "approved"> {
  executing: CallRecord;
}

/** How long work is held that is not held by the instance's lease. */
export const CLAIM_MS = 60_000;

/**
 * Hands out work: each piece to one live instance at a time. Losers write nothing. Work that the instance's lease does not
 * hold can be claimed again, also by the same instance, when `holdMs` have passed and it is still there.
 */
export interface WorkClaims {
  /** At most `limit` pieces that nobody holds. Claims nothing for an instance without a live lease. */
  claim<Kind extends WorkKind>(order: ClaimOrder<Kind>): Promise<Work[Kind][]>;
  /** Lets go of queued or approved calls that this instance holds and has not begun. */
  release(order: { kind: "queued" | "approved"; instance: string; ids: readonly string[] }): Promise<void>;
  /**
   * At most `limit` of what the instance holds, but for the calls whose ids are named, in any order. Of claimed approvals
   * those that are still good. Changes nothing.
   */
  held<Kind extends keyof HeldWork>(order: HeldOrder<Kind>): Promise<HeldWork[Kind][]>;
}

export interface HeldOrder<Kind extends keyof HeldWork = keyof HeldWork> {
  kind: Kind;
  instance: string;
  limit: number;
  except: readonly string[];
}

export interface ClaimOrder<Kind extends WorkKind = WorkKind> {
  kind: Kind;
  instance: string;
  limit: number;
  /** How long the claim holds where the instance's lease does not; CLAIM_MS when left out. */
  holdMs?: number;
  /** Of callbacks: those whose URLs start with one of these are left to others, or to later. */
  except?: readonly string[];
}
