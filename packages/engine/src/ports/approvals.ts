import type { JsonValue, Risk } from "@sallyport/protocol";
import type { CallIdentity, ListPlace } from "./calls.ts";
import type { Tier } from "./grants.ts";

/**
 * Where an approval stands.
 *
 *   pending → approved | edited → reserved → consumed
 *      ↓           ↓       ↑_________|
 *   denied, expired, withdrawn, void
 *
 * `edited` is an approval of other arguments than were asked for. `reserved` is held by one executor that is about to
 * run the call; a reservation that is not consumed falls back, because nothing has run. Only `consumed` and the four
 * below are final. `void`: what would run is no longer what was approved.
 */
export type ApprovalStanding =
  | { state: "pending" }
  | { state: "approved"; at: number }
  | { state: "edited"; at: number }
  | { state: "reserved"; owner: string; until: number }
  | { state: "consumed"; at: number }
  | { state: "denied"; at: number; by: string; reason: string }
  | { state: "expired"; at: number }
  | { state: "withdrawn"; at: number; reason: string }
  | { state: "void"; at: number; reason: string };

export type ApprovalState = ApprovalStanding["state"];

/** Who may answer from when on: each level adds its approvers once the one before has had its time. */
export interface ApprovalLevel {
  level: number;
  /** Names or patterns with `*`. */
  approvers: string[];
  timeoutMs: number;
  /** Where its approvers are told; passed on, never interpreted. */
  channels?: string[];
}

/** A yes to exactly one digest. */
export interface ApprovalVote {
  by: string;
  level: number;
  at: number;
  digest: string;
  comment?: string;
}

/** Why a person has to be asked. */
export type ApprovalCause = "policy" | "tool" | "caller";

/** A question to a person about one call, and its answer. */
export interface ApprovalRecord extends CallIdentity {
  approvalId: string;
  /** Over the exact arguments, the manifest, the policy and the caller; changing any of them voids the approval. */
  digest: string;
  inputHash: string;
  manifestHash: string;
  policyVersion: string;
  because: ApprovalCause;
  /** Whose word asks, when it is the policy's. */
  tier?: Tier;
  reason: string;
  rules: string[];
  /** One line for the person, at most 200 characters, secrets redacted. */
  summary: string;
  risk: Risk;
  /** The arguments, secrets redacted. */
  input: JsonValue;
  /** What the call would change, where that is known beforehand. */
  effects?: JsonValue;
  levels: ApprovalLevel[];
  /** Which question about this call it is, from 1. */
  round: number;
  /** How many different people have to agree. */
  quorum: number;
  votes: ApprovalVote[];
  /** Who changed the arguments, when somebody did: the votes are for the changed ones. */
  editedBy?: string;
  createdAt: number;
  expiresAt: number;
  standing: ApprovalStanding;
  /** Counts the writes: one made on an older revision is refused. */
  revision: number;
}

export interface ApprovalWrite {
  record: ApprovalRecord;
  /** The revision the change was made on; undefined for a new record. */
  expect?: number;
  /**
   * The order as it will run, with everything in it: kept apart from the record and only while the call may still
   * run. Left out: stays as it is; null: forgotten.
   */
  order?: string | null;
  /** With a new record: the call goes on by itself once it is approved, so its approval is work to be claimed. */
  unattended?: boolean;
}

export interface ApprovalFilter {
  tenant?: string;
  states?: ApprovalState[];
  /** Only approvals behind this place (`createdAt`, `approvalId`), for paging from new to old. */
  before?: ListPlace;
  limit: number;
}

export interface ApprovalReader {
  get(approvalId: string): Promise<ApprovalRecord | undefined>;
  /** The newest one of a call. */
  ofCall(callId: string): Promise<ApprovalRecord | undefined>;
  /** By `createdAt`, newest first, then by id. */
  list(filter: ApprovalFilter): Promise<ApprovalRecord[]>;
  /** The kept order; undefined when there is none (any more). */
  order(approvalId: string): Promise<string | undefined>;
}
