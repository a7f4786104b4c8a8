import { revisionConflict } from "./revisions.ts";

/** Callbacks, tool versions, records and transactional state: what a unit keeps beside calls and permits. */
export const DOCUMENTS = `
CREATE TABLE callbacks (
  position bigint GENERATED ALWAYS AS IDENTITY,
  call_id text COLLATE "C" PRIMARY KEY,
  tenant_id text NOT NULL,
  url text NOT NULL,
  state text NOT NULL,
  attempts bigint NOT NULL,
  due_at double precision NOT NULL,
  problem text
);
CREATE INDEX callbacks_due ON callbacks (due_at, position) WHERE state = 'due';

CREATE FUNCTION callbacks_conflict(writes jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  w jsonb;
  written jsonb := '{}';
  known jsonb;
BEGIN
  FOR w IN SELECT * FROM jsonb_array_elements(writes) LOOP
    known := written -> (w ->> 'call_id');
    IF known IS NULL THEN
      SELECT jsonb_build_object('attempts', attempts, 'state', state) INTO known
        FROM callbacks WHERE call_id = w ->> 'call_id' FOR UPDATE;
    END IF;
    IF (known ->> 'attempts')::bigint IS DISTINCT FROM (w ->> 'expect')::bigint
      OR known ->> 'state' <> 'due' THEN
      RETURN jsonb_build_array('callback', w ->> 'call_id');
    END IF;
    written := jsonb_set(written, ARRAY[w ->> 'call_id'], w);
  END LOOP;
  RETURN NULL;
END $$;

CREATE FUNCTION write_callbacks(writes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w jsonb;
  c callbacks;
BEGIN
  FOR w IN SELECT * FROM jsonb_array_elements(writes) LOOP
    c := jsonb_populate_record(NULL::callbacks, w);
    IF w ->> 'expect' IS NULL THEN
      INSERT INTO callbacks (call_id, tenant_id, url, state, attempts, due_at, problem)
        VALUES (c.call_id, c.tenant_id, c.url, c.state, c.attempts, least(c.due_at, now_ms()), c.problem);
    ELSE
      UPDATE callbacks SET tenant_id = c.tenant_id, url = c.url, state = c.state, attempts = c.attempts,
          due_at = c.due_at, problem = c.problem
        WHERE call_id = c.call_id;
    END IF;
  END LOOP;
END $$;

CREATE TABLE tools (
  position bigint GENERATED ALWAYS AS IDENTITY,
  tool_id text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  version_id uuid NOT NULL DEFAULT gen_random_uuid(),
  revision bigint NOT NULL,
  manifest text NOT NULL,
  manifest_hash text NOT NULL,
  retirement text NOT NULL,
  module text,
  quarantine text,
  registered_at double precision NOT NULL,
  updated_at double precision NOT NULL DEFAULT now_ms(),
  changed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (tool_id, version)
);
CREATE INDEX tools_changed ON tools (changed_in);
CREATE INDEX idx_tool_version_version ON tools (version);
${revisionConflict("tools", "tool", ["tool_id", "version"])}

CREATE FUNCTION write_tools(writes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w jsonb;
  t tools;
BEGIN
  FOR w IN SELECT * FROM jsonb_array_elements(writes) LOOP
    t := jsonb_populate_record(NULL::tools, w);
    IF w ->> 'expect' IS NULL THEN
      INSERT INTO tools (tool_id, version, revision, manifest, manifest_hash, retirement, module, quarantine,
          registered_at)
        VALUES (t.tool_id, t.version, t.revision, t.manifest, t.manifest_hash, t.retirement, t.module,
          t.quarantine, t.registered_at);
    ELSE
      UPDATE tools SET revision = t.revision, retirement = t.retirement, module = t.module,
          quarantine = t.quarantine, updated_at = now_ms(), changed_in = pg_current_xact_id()
        WHERE tool_id = t.tool_id AND version = t.version;
    END IF;
  END LOOP;
END $$;

CREATE TABLE records (
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  expires_at double precision,
  body text NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX records_expiring ON records (expires_at) WHERE expires_at IS NOT NULL;

CREATE FUNCTION records_conflict(writes jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  w jsonb;
  written jsonb := '{}';
  name text;
  newest bigint;
BEGIN
  FOR w IN SELECT * FROM jsonb_array_elements(writes) LOOP
    name := jsonb_build_array(w -> 'kind', w -> 'id')::text;
    newest := (written ->> name)::bigint;
    IF newest IS NULL THEN
      SELECT revision INTO newest FROM records WHERE kind = w ->> 'kind' AND id = w ->> 'id'
        AND (expires_at IS NULL OR expires_at > now_ms()) FOR UPDATE;
    END IF;
    IF coalesce(newest, 0) <> (w ->> 'expect')::bigint THEN
      RETURN jsonb_build_array('record', w ->> 'kind', w ->> 'id');
    END IF;
    written := jsonb_set(written, ARRAY[name],
      to_jsonb(CASE WHEN w ->> 'body' IS NULL THEN 0 ELSE coalesce(newest, 0) + 1 END));
  END LOOP;
  RETURN NULL;
END $$;

CREATE FUNCTION write_records(writes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  w jsonb;
BEGIN
  FOR w IN SELECT * FROM jsonb_array_elements(writes) LOOP
    DELETE FROM records WHERE kind = w ->> 'kind' AND id = w ->> 'id'
      AND (w ->> 'body' IS NULL OR expires_at <= now_ms());
    CONTINUE WHEN w ->> 'body' IS NULL;
    UPDATE records SET revision = revision + 1, expires_at = (w ->> 'expires_at')::double precision,
        body = w ->> 'body'
      WHERE kind = w ->> 'kind' AND id = w ->> 'id';
    CONTINUE WHEN FOUND;
    INSERT INTO records VALUES (w ->> 'kind', w ->> 'id', 1, (w ->> 'expires_at')::double precision, w ->> 'body');
  END LOOP;
END $$;

CREATE TABLE state_scopes (
  scope_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id text COLLATE "C" NOT NULL,
  tool_id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  floor bigint NOT NULL DEFAULT 0,
  UNIQUE (tenant_id, tool_id)
);

CREATE TABLE state (
  scope_id bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  call_id text COLLATE "C" NOT NULL,
  outdated_at double precision,
  needed_below bigint,
  value text,
  PRIMARY KEY (scope_id, key, version)
);
CREATE INDEX state_by_call ON state (call_id);
CREATE INDEX state_outdated ON state (outdated_at) WHERE outdated_at IS NOT NULL;

CREATE FUNCTION state_conflict(s jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  scope bigint;
  keys jsonb;
BEGIN
  LOOP
    SELECT scope_id INTO scope FROM state_scopes
      WHERE tenant_id = s ->> 'tenant' AND tool_id = s ->> 'tool' FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO state_scopes (tenant_id, tool_id, version) VALUES (s ->> 'tenant', s ->> 'tool', 0)
      ON CONFLICT DO NOTHING;
  END LOOP;
  SELECT jsonb_agg(w -> 0) INTO keys FROM jsonb_array_elements(s -> 'writes') AS w
    WHERE coalesce((SELECT max(version) FROM state WHERE scope_id = scope AND key = w ->> 0)
      > (s ->> 'version')::bigint, (w ->> 2)::boolean);
  RETURN CASE WHEN keys IS NOT NULL THEN jsonb_build_array('state', keys) END;
END $$;

CREATE FUNCTION forget_state(before double precision, at_most bigint) RETURNS void LANGUAGE sql AS $$
  WITH old AS (
    SELECT s.scope_id, s.key, s.version, s.needed_below FROM state AS s JOIN state_scopes AS c USING (scope_id)
      WHERE s.outdated_at <= before ORDER BY s.outdated_at LIMIT at_most FOR UPDATE OF s, c SKIP LOCKED),
  forgotten AS (
    DELETE FROM state USING old
      WHERE state.scope_id = old.scope_id AND state.key = old.key AND state.version = old.version),
  raised AS (SELECT scope_id, max(needed_below) AS needed_below FROM old GROUP BY scope_id)
  UPDATE state_scopes SET floor = greatest(floor, raised.needed_below) FROM raised
    WHERE state_scopes.scope_id = raised.scope_id $$;

CREATE FUNCTION write_state(s jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  scope bigint;
  raised bigint;
  now double precision := now_ms();
BEGIN
  IF jsonb_array_length(s -> 'writes') = 0 THEN RETURN; END IF;
  UPDATE state_scopes SET version = version + 1 WHERE tenant_id = s ->> 'tenant' AND tool_id = s ->> 'tool'
    RETURNING scope_id, version INTO scope, raised;
  UPDATE state SET outdated_at = now, needed_below = raised FROM jsonb_array_elements(s -> 'writes') AS w
    WHERE scope_id = scope AND key = w ->> 0 AND outdated_at IS NULL;
  -- A deletion is outdated from its beginning: once it is old, it says no more than an absent key.
  INSERT INTO state SELECT scope, w ->> 0, raised, s ->> 'callId', CASE WHEN w ->> 1 IS NULL THEN now END,
      CASE WHEN w ->> 1 IS NULL THEN raised END, w ->> 1
    FROM jsonb_array_elements(s -> 'writes') AS w;
  PERFORM forget_state(now - (s ->> 'keepMs')::double precision, 256);
END $$;
`;
