import type { DatabaseSync } from "node:sqlite";

const FIND_APPROVAL = "SELECT revision FROM approvals WHERE approval_id = ?";

const INSERT_APPROVAL = `INSERT INTO approvals (
    approval_id, state, revision, record, call_order, call_id, tenant_id)
  VALUES (?, ?, ?, ?, ?, ?, ?)`;

/** Its call and its tenant stay those it was first written with. */
const UPDATE_APPROVAL = "UPDATE approvals SET state = ?2, revision = ?3, record = ?4 WHERE approval_id = ?1";

const PUT_ORDER = "UPDATE approvals SET call_order = ?2 WHERE approval_id = ?1";

const FIND_GRANT = "SELECT revision FROM grants WHERE grant_id = ?";

const INSERT_GRANT = `INSERT INTO grants (grant_id, revision, record, uses, last_used_at)
  VALUES (?, ?, ?, ?, ?)`;

/** The counts belong to the row, not to the record: a writer's are not taken over. */
const UPDATE_GRANT = "UPDATE grants SET revision = ?2, record = ?3 WHERE grant_id = ?1";

const COUNT_USES = `UPDATE grants SET uses = uses + ?2, last_used_at = max(coalesce(last_used_at, ?3), ?3)
  WHERE grant_id = ?1`;

const INSERT_REVOCATION = "INSERT INTO token_revocations (jti, record) VALUES (?, ?) ON CONFLICT DO NOTHING";

/** The statements that write approvals, grants and revocations, and those their checks need. */
export function preparePermitStatements(database: DatabaseSync) {
  return {
    findApproval: database.prepare(FIND_APPROVAL),
    insertApproval: database.prepare(INSERT_APPROVAL),
    updateApproval: database.prepare(UPDATE_APPROVAL),
    putOrder: database.prepare(PUT_ORDER),
    findGrant: database.prepare(FIND_GRANT),
    insertGrant: database.prepare(INSERT_GRANT),
    updateGrant: database.prepare(UPDATE_GRANT),
    countUses: database.prepare(COUNT_USES),
    insertRevocation: database.prepare(INSERT_REVOCATION),
  };
}
