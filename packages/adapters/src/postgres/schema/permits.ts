import { revisionConflict } from "./revisions.ts";

/**
 * Approvals, grants and revoked tokens. A record is one JSON text; beside it stand the columns that checks, claims and
 * lists need. Every write of a row that caches follow notes its transaction, so that a reader can ask for what changed
 * in transactions that it may not have seen.
 *
 * Uses without a limit are counted beside the grant, one row for each transaction: no process waits for another to count
 * a use. They are added to the grant when somebody needs its lock anyway, and from time to time.
 */
export const PERMITS = `
CREATE TABLE approvals (
  position bigint GENERATED ALWAYS AS IDENTITY,
  approval_id text COLLATE "C" PRIMARY KEY,
  call_id text COLLATE "C" NOT NULL,
  tenant_id text COLLATE "C" NOT NULL,
  state text NOT NULL,
  revision bigint NOT NULL,
  created_at double precision NOT NULL,
  expires_at double precision NOT NULL,
  reserved_by text COLLATE "C",
  reserved_until double precision,
  unattended boolean NOT NULL,
  claimed_by text COLLATE "C",
  claim_id text,
  held_until double precision NOT NULL DEFAULT 0,
  record text NOT NULL,
  call_order text
);
CREATE INDEX approvals_by_call ON approvals (call_id, position);
CREATE INDEX approvals_by_tenant ON approvals (tenant_id, created_at, approval_id);
CREATE INDEX approvals_by_time ON approvals (created_at, approval_id);
CREATE INDEX approvals_open ON approvals (state, expires_at)
  WHERE state IN ('pending', 'approved', 'edited', 'reserved');
${revisionConflict("approvals", "approval", ["approval_id"])}

CREATE FUNCTION write_approvals(writes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w jsonb;
  r approvals;
BEGIN
  FOR w IN SELECT * FROM jsonb_array_elements(writes) LOOP
    r := jsonb_populate_record(NULL::approvals, w);
    IF w ->> 'expect' IS NULL THEN
      INSERT INTO approvals (approval_id, call_id, tenant_id, state, revision, created_at, expires_at, reserved_by,
          reserved_until, unattended, record, call_order)
        VALUES (r.approval_id, r.call_id, r.tenant_id, r.state, r.revision, r.created_at, r.expires_at,
          r.reserved_by, r.reserved_until, r.unattended, r.record, r.call_order);
    ELSE
      UPDATE approvals SET state = r.state, revision = r.revision, expires_at = r.expires_at,
          reserved_by = r.reserved_by, reserved_until = r.reserved_until, claimed_by = NULL, claim_id = NULL,
          held_until = 0, record = r.record,
          call_order = CASE WHEN w ? 'call_order' THEN r.call_order ELSE call_order END
        WHERE approval_id = r.approval_id;
    END IF;
  END LOOP;
END $$;

CREATE TABLE grants (
  position bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  grant_id text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL,
  record text NOT NULL,
  uses bigint NOT NULL,
  last_used_at double precision,
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX grants_changed ON grants (changed_in);

CREATE TABLE grant_counts (grant_id text COLLATE "C" NOT NULL, uses bigint NOT NULL, last_used_at double precision);
CREATE INDEX grant_counts_by_grant ON grant_counts (grant_id);

CREATE TABLE grant_uses (grant_id text COLLATE "C" NOT NULL, call_id text, used_at double precision NOT NULL);
CREATE INDEX grant_uses_by_time ON grant_uses (grant_id, used_at);

CREATE FUNCTION count_uses(ids text[], times double precision[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO grant_counts SELECT id, count(*), max(used) FROM unnest(ids, times) AS u (id, used)
    GROUP BY id $$;

CREATE FUNCTION lock_grant(id text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM grants WHERE grant_id = id FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  WITH counted AS (DELETE FROM grant_counts WHERE grant_id = id RETURNING uses, last_used_at)
    UPDATE grants SET uses = grants.uses + c.uses, last_used_at = greatest(grants.last_used_at, c.last_used_at)
      FROM (SELECT sum(uses) AS uses, max(last_used_at) AS last_used_at FROM counted) c
      WHERE grant_id = id AND c.uses IS NOT NULL;
  RETURN true;
END $$;
${revisionConflict("grants", "grant", ["grant_id"])}

CREATE FUNCTION write_grants(writes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w jsonb;
BEGIN
  FOR w IN SELECT * FROM jsonb_array_elements(writes) LOOP
    IF w ->> 'expect' IS NULL THEN
      INSERT INTO grants (grant_id, revision, record, uses, last_used_at) VALUES (w ->> 'grant_id',
        (w ->> 'revision')::bigint, w ->> 'record', (w ->> 'uses')::bigint,
        (w ->> 'last_used_at')::double precision);
    ELSE
      UPDATE grants SET revision = (w ->> 'revision')::bigint, record = w ->> 'record',
          changed_in = pg_current_xact_id()
        WHERE grant_id = w ->> 'grant_id';
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION uses_conflict(limited jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  l jsonb;
  free_at double precision;
BEGIN
  FOR l IN SELECT * FROM jsonb_array_elements(limited) LOOP
    IF NOT lock_grant(l ->> 'grant_id') OR EXISTS (SELECT FROM grants
        WHERE grant_id = l ->> 'grant_id' AND uses >= (l ->> 'max_uses')::double precision) THEN
      RETURN jsonb_build_array('grant_spent', l ->> 'grant_id');
    END IF;
    SELECT max(nth.used_at + rate."windowMs") INTO free_at
      FROM jsonb_to_recordset(l -> 'rates') AS rate (max bigint, "windowMs" double precision),
        LATERAL (SELECT used_at FROM grant_uses WHERE grant_id = l ->> 'grant_id'
          ORDER BY used_at DESC LIMIT 1 OFFSET greatest(rate.max - 1, 0)) nth
      WHERE rate.max > 0;
    IF free_at > (l ->> 'used_at')::double precision THEN
      RETURN jsonb_build_array('grant_spent', l ->> 'grant_id', free_at);
    END IF;
  END LOOP;
  RETURN NULL;
END $$;

CREATE FUNCTION write_limited_uses(limited jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  l jsonb;
  at double precision;
BEGIN
  FOR l IN SELECT * FROM jsonb_array_elements(limited) LOOP
    at := (l ->> 'used_at')::double precision;
    UPDATE grants SET uses = uses + 1, last_used_at = greatest(last_used_at, at)
      WHERE grant_id = l ->> 'grant_id';
    CONTINUE WHEN jsonb_array_length(l -> 'rates') = 0;
    DELETE FROM grant_uses WHERE grant_id = l ->> 'grant_id' AND used_at <= at - (
      SELECT max("windowMs") FROM jsonb_to_recordset(l -> 'rates') AS rate ("windowMs" double precision));
    INSERT INTO grant_uses VALUES (l ->> 'grant_id', l ->> 'call_id', at);
  END LOOP;
END $$;

CREATE FUNCTION return_uses(returned jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  r jsonb;
BEGIN
  FOR r IN SELECT * FROM jsonb_array_elements(returned) LOOP
    CONTINUE WHEN NOT lock_grant(r ->> 'grantId');
    UPDATE grants SET uses = greatest(0, uses - 1) WHERE grant_id = r ->> 'grantId';
    DELETE FROM grant_uses WHERE grant_id = r ->> 'grantId' AND call_id = r ->> 'callId';
  END LOOP;
END $$;

CREATE TABLE token_revocations (
  position bigint GENERATED ALWAYS AS IDENTITY,
  jti text COLLATE "C" PRIMARY KEY,
  record text NOT NULL,
  forget_at double precision NOT NULL,
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX token_revocations_changed ON token_revocations (changed_in);

CREATE FUNCTION write_revocations(revoked jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO token_revocations (jti, record, forget_at)
    SELECT r ->> 'jti', r ->> 'record', (r ->> 'forget_at')::double precision
    FROM jsonb_array_elements(revoked) WITH ORDINALITY AS all_of (r, place) ORDER BY place
  ON CONFLICT DO NOTHING $$;
`;
