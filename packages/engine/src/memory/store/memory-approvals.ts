import type { ApprovalFilter, ApprovalRecord, ApprovalState, ApprovalWrite } from "../../ports/approvals.ts";
import type { Conflict } from "../../ports/store.ts";
import { firstStale, type RevisedWrite, requireNextRevision } from "./revisions.ts";

interface KeptApproval {
  callId: string;
  tenant: string;
  state: ApprovalState;
  revision: number;
  /** The record as text, so that nobody who holds the object can change it. */
  text: string;
  order?: string;
}

/** A write whose record is text already, so that writing it cannot fail half way. */
export interface PreparedApproval extends RevisedWrite {
  kept: KeptApproval;
  /** As in the port: undefined leaves what is kept, null forgets it. */
  order: string | null | undefined;
}

/** Approvals in the order they were first written, each with the order it was asked for as long as that is kept. */
export class MemoryApprovals {
  readonly #approvals = new Map<string, KeptApproval>();
  readonly #byCall = new Map<string, string[]>();

  check(writes: readonly PreparedApproval[]): Conflict | undefined {
    const approvalId = firstStale(writes, (id) => this.#approvals.get(id)?.revision);
    return approvalId === undefined ? undefined : { kind: "approval", approvalId };
  }

  /** Its call and its tenant stay those it was first written with. */
  put({ id, kept, order }: PreparedApproval): void {
    const before = this.#approvals.get(id);
    const next = order === undefined ? before?.order : (order ?? undefined);
    const { callId, tenant } = before ?? kept;
    this.#approvals.set(id, { ...kept, callId, tenant, ...(next !== undefined && { order: next }) });
    if (!before) this.#byCall.set(callId, [...(this.#byCall.get(callId) ?? []), id]);
  }

  get(approvalId: string): ApprovalRecord | undefined {
    const kept = this.#approvals.get(approvalId);
    return kept && recordOf(kept);
  }

  ofCall(callId: string): ApprovalRecord | undefined {
    const newest = this.#byCall.get(callId)?.at(-1);
    return newest === undefined ? undefined : this.get(newest);
  }

  order(approvalId: string): string | undefined {
    return this.#approvals.get(approvalId)?.order;
  }

  /** Newest first in the order they came; nothing when `before` is not known. */
  list({ tenant, states, before, limit }: ApprovalFilter): ApprovalRecord[] {
    const newestFirst = [...this.#approvals].reverse();
    const from = before === undefined ? 0 : newestFirst.findIndex(([id]) => id === before) + 1;
    if (before !== undefined && from === 0) return [];
    const matching = newestFirst
      .slice(from)
      .map(([, kept]) => kept)
      .filter((kept) => tenant === undefined || kept.tenant === tenant)
      .filter((kept) => states === undefined || states.includes(kept.state));
    return matching.slice(0, Math.max(0, limit)).map(recordOf);
  }

  /** Forgets whatever was asked about the call. */
  forgetCall(callId: string): void {
    for (const id of this.#byCall.get(callId) ?? []) this.#approvals.delete(id);
    this.#byCall.delete(callId);
  }
}

/** Throws when the record is not JSON or does not follow the revision it expects; nothing has been written then. */
export function prepareApproval({ record, expect, order }: ApprovalWrite): PreparedApproval {
  const { approvalId, callId, tenant, revision } = record;
  const kept = { callId, tenant, state: record.standing.state, revision, text: JSON.stringify(record) };
  const write = { id: approvalId, revision, expect, kept, order };
  requireNextRevision(write);
  return write;
}

function recordOf({ text }: KeptApproval): ApprovalRecord {
  return JSON.parse(text);
}
