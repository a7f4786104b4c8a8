import type { StatementSync } from "node:sqlite";
import type { ApprovalRow, GrantRow, Outcome, PermitJob, Revised } from "./messages.ts";
import type { Statements } from "./statements.ts";

/** Why approvals or grants must not be written; nothing has been then. */
export function permitConflict(sql: Statements, { approvals, grants }: PermitJob): Outcome | undefined {
  const approvalId = firstStale(approvals, sql.findApproval);
  if (approvalId !== undefined) return ["approval", approvalId];
  const grantId = firstStale(grants, sql.findGrant);
  return grantId === undefined ? undefined : ["grant", grantId];
}

/** Writes what `permitConflict` found nothing against, in the order it was given. */
export function writePermits(sql: Statements, { approvals, grants, revocations }: PermitJob): void {
  for (const approval of approvals) writeApproval(sql, approval);
  for (const grant of grants) writeGrant(sql, grant);
  for (const revocation of revocations) sql.insertRevocation.run(...revocation);
}

/** The first id whose write was made on an older revision; each write is taken to follow those before it. */
function firstStale(writes: readonly Revised[], find: StatementSync): string | undefined {
  const written = new Map<string, number>();
  const stale = writes.find(({ id, revision, expect }) => {
    const found = written.get(id) ?? find.get(id)?.revision ?? null;
    if (found !== expect) return true;
    written.set(id, revision);
    return false;
  });
  return stale?.id;
}

function writeApproval(sql: Statements, approval: ApprovalRow): void {
  const { id, state, revision, record, order, expiresAt, unattended } = approval;
  const cells = [id, state, revision, record, expiresAt];
  if (approval.expect === null) {
    sql.insertApproval.run(...cells, order ?? null, unattended, ...approval.of);
    return;
  }
  sql.updateApproval.run(...cells);
  if (order !== undefined) sql.putOrder.run(id, order);
}

function writeGrant(sql: Statements, { id, expect, revision, record, counts }: GrantRow): void {
  if (expect === null) sql.insertGrant.run(id, revision, record, ...counts);
  else sql.updateGrant.run(id, revision, record);
}
