import type { ApprovalWrite, GrantWrite, Revocation, UnitOfWork } from "@sallyport/engine";
import type { ApprovalRow, GrantRow, PermitJob, Revised } from "./messages.ts";
import { wellFormedOrder } from "./well-formed-order.ts";

/**
 * Flattens the approvals, grants and revocations of a unit; null when it has none. Throws when something in them is
 * not JSON, or does not follow the revision it expects.
 */
export function encodePermits(unit: UnitOfWork): PermitJob | null {
  const { approvals, grants, revocations } = unit;
  if (!(approvals?.length || grants?.length || revocations?.length)) return null;
  return {
    approvals: (approvals ?? []).map(approvalRow),
    grants: (grants ?? []).map(grantRow),
    revocations: (revocations ?? []).map(revocationCells),
  };
}

/** Roughly how many bytes they take while they wait. */
export function permitBytes({ approvals, grants, revocations }: PermitJob): number {
  let bytes = 64 * (approvals.length + grants.length + revocations.length);
  for (const { record, order } of approvals) bytes += record.length + (order?.length ?? 0);
  for (const { record } of grants) bytes += record.length;
  for (const [jti, record] of revocations) bytes += jti.length + record.length;
  return bytes;
}

function approvalRow({ record, expect, order }: ApprovalWrite): ApprovalRow {
  const { approvalId, callId, tenant, standing, revision } = record;
  return {
    ...revised(approvalId, { revision, expect }),
    state: standing.state,
    record: JSON.stringify(record),
    of: [callId, tenant],
    order: order && wellFormedOrder(order),
  };
}

function grantRow({ record, expect }: GrantWrite): GrantRow {
  const { grantId, revision, uses, lastUsedAt } = record;
  return {
    ...revised(grantId, { revision, expect }),
    record: JSON.stringify(record),
    counts: [uses, lastUsedAt ?? null],
  };
}

function revocationCells(revocation: Revocation): [jti: string, record: string] {
  return [JSON.stringify(revocation.jti), JSON.stringify(revocation)];
}

/** A revision that is not the one after what the write expects is a mistake of the writer, never a race. */
function revised(id: string, write: { revision: number; expect: number | undefined }): Revised {
  const { revision, expect } = write;
  if (revision === (expect ?? 0) + 1) return { id, revision, expect: expect ?? null };
  throw new RangeError(
    `The write of ${id} on revision ${expect ?? "none"} calls itself revision ${revision}.`,
  );
}
