/**
 * The journal and the queue. Beside the columns that people query stand those that fence a run: its owner and its run
 * id. A call's link is where its last unit stands in the audit record. Lists are by (started_at, call_id).
 */
export const CALLS = `
CREATE TABLE calls (
  call_id text COLLATE "C" PRIMARY KEY,
  tenant_id text COLLATE "C" NOT NULL,
  agent_did text COLLATE "C" NOT NULL,
  user_id text,
  session_id text,
  tool_id text COLLATE "C" NOT NULL,
  tool_version text NOT NULL,
  operation text NOT NULL,
  manifest_hash text NOT NULL,
  side_effects text NOT NULL,
  parameters text NOT NULL,
  input_hash text NOT NULL,
  idempotency_key text COLLATE "C",
  request_digest text,
  callback_url text,
  async_mode boolean,
  priority text,
  owner text COLLATE "C" NOT NULL,
  run_id text COLLATE "C",
  staged_in text,
  attempt integer NOT NULL,
  started_at double precision NOT NULL,
  grants text,
  phase text NOT NULL,
  cancel_reason text,
  cancel_held_until double precision,
  status text,
  completed_at double precision,
  output_hash text,
  timeline text,
  answer text,
  strand integer,
  sequence bigint,
  hash text,
  position bigint
);
CREATE SEQUENCE calls_position;
CREATE INDEX calls_by_position ON calls (position);
CREATE INDEX idx_invocation_started_at ON calls (started_at, call_id);
CREATE INDEX idx_invocation_tenant ON calls (tenant_id, started_at, call_id);
CREATE INDEX idx_invocation_agent ON calls (agent_did, started_at, call_id);
CREATE INDEX idx_invocation_tool ON calls (tool_id, started_at, call_id);
CREATE INDEX idx_invocation_status ON calls (status, started_at, call_id) WHERE status <> 'success';
CREATE INDEX calls_open ON calls (phase, started_at, call_id) WHERE phase <> 'closed';
CREATE INDEX calls_cancelled ON calls (owner) WHERE cancel_reason IS NOT NULL AND phase = 'executing';
CREATE UNIQUE INDEX calls_by_key ON calls (tenant_id, agent_did, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE TABLE queue (
  call_id text COLLATE "C" PRIMARY KEY,
  tenant_id text NOT NULL,
  agent_did text NOT NULL,
  tool_id text NOT NULL,
  priority text NOT NULL,
  urgency integer NOT NULL,
  queued_at double precision NOT NULL,
  claimed_by text COLLATE "C",
  claim_id text,
  call_order text NOT NULL
);
CREATE INDEX queue_by_urgency ON queue (urgency, queued_at, call_id);

CREATE FUNCTION key_holder(tenant text, agent text, key text) RETURNS text LANGUAGE sql VOLATILE AS
  $$ SELECT call_id FROM calls WHERE tenant_id = tenant AND agent_did = agent AND idempotency_key = key $$;

CREATE FUNCTION open_conflict(opened jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  holder text;
BEGIN
  IF EXISTS (SELECT FROM calls WHERE call_id = opened ->> 'call_id') THEN RETURN '["duplicate_call"]'; END IF;
  holder := key_holder(opened ->> 'tenant_id', opened ->> 'agent_did', opened ->> 'idempotency_key');
  RETURN CASE WHEN holder IS NOT NULL THEN jsonb_build_array('idempotency', holder) END;
END $$;

CREATE FUNCTION begin_conflict(begun jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  found_phase text;
  found_tenant text;
  found_key text;
  holder text;
BEGIN
  SELECT phase, tenant_id, idempotency_key INTO found_phase, found_tenant, found_key
    FROM calls WHERE call_id = begun ->> 'call_id' FOR UPDATE;
  IF found_phase IS NULL OR found_phase NOT IN ('waiting', 'queued') OR found_tenant <> begun ->> 'tenant_id' THEN
    RETURN '["not_waiting"]';
  END IF;
  holder := key_holder(found_tenant, begun ->> 'agent_did', coalesce(begun ->> 'idempotency_key', found_key));
  RETURN CASE WHEN holder <> begun ->> 'call_id' THEN jsonb_build_array('idempotency', holder) END;
END $$;

CREATE FUNCTION close_conflict(closed jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  found_phase text;
  expected text := closed ->> 'from';
BEGIN
  SELECT phase INTO found_phase FROM calls WHERE call_id = closed ->> 'call_id' FOR UPDATE;
  IF found_phase IS NULL OR found_phase = 'closed' OR found_phase <> coalesce(expected, found_phase)
    OR (found_phase = 'unknown' AND expected IS NULL)
    OR (closed ->> 'phase' = 'unknown' AND found_phase <> 'executing')
  THEN RETURN '["not_open"]'; END IF;
  RETURN NULL;
END $$;

-- By the key alone: an index of open calls keeps an entry of every call closed since the last vacuum.
CREATE FUNCTION is_executing(call text, run text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  found_phase text;
  found_run text;
BEGIN
  SELECT phase, run_id INTO found_phase, found_run FROM calls WHERE call_id = call FOR UPDATE;
  RETURN found_phase IS NOT DISTINCT FROM 'executing' AND (run IS NULL OR found_run IS NOT DISTINCT FROM run);
END $$;

CREATE FUNCTION calls_conflict(u jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  refused jsonb;
BEGIN
  IF u ? 'fence' AND NOT is_executing(u -> 'fence' ->> 'callId', u -> 'fence' ->> 'runId') THEN
    RETURN '["fenced"]';
  END IF;
  IF u ? 'open' AND u ? 'look' THEN refused := open_conflict(u -> 'open'); END IF;
  IF refused IS NULL AND u ? 'begin' THEN refused := begin_conflict(u -> 'begin'); END IF;
  IF refused IS NULL AND u ? 'rerun' AND NOT is_executing(u -> 'rerun' ->> 'callId', NULL) THEN
    refused := '["not_open"]';
  END IF;
  IF refused IS NULL AND u ? 'close' THEN refused := close_conflict(u -> 'close'); END IF;
  IF refused IS NULL AND u ? 'cancel' AND NOT is_executing(u -> 'cancel' ->> 'callId', NULL) THEN
    refused := '["not_open"]';
  END IF;
  RETURN refused;
END $$;

CREATE FUNCTION write_open(u jsonb, link calls) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  link.position := nextval('calls_position');
  INSERT INTO calls SELECT * FROM jsonb_populate_record(link, u -> 'open') ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  IF u ? 'enqueue' THEN
    INSERT INTO queue SELECT * FROM jsonb_populate_record(NULL::queue, u -> 'enqueue');
  END IF;
  RETURN true;
END $$;

CREATE FUNCTION write_begin(begun calls) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE calls SET agent_did = begun.agent_did, user_id = begun.user_id, session_id = begun.session_id,
      tool_id = begun.tool_id, tool_version = begun.tool_version, operation = begun.operation,
      manifest_hash = begun.manifest_hash, side_effects = begun.side_effects, parameters = begun.parameters,
      input_hash = begun.input_hash, idempotency_key = coalesce(begun.idempotency_key, idempotency_key),
      request_digest = coalesce(begun.request_digest, request_digest),
      callback_url = coalesce(begun.callback_url, callback_url), async_mode = begun.async_mode,
      priority = begun.priority, owner = begun.owner, run_id = begun.run_id, staged_in = begun.staged_in,
      attempt = begun.attempt, grants = begun.grants, phase = 'executing',
      cancel_reason = NULL, cancel_held_until = NULL, status = NULL, completed_at = NULL, output_hash = NULL,
      timeline = NULL, answer = NULL, strand = coalesce(begun.strand, strand),
      sequence = coalesce(begun.sequence, sequence), hash = coalesce(begun.hash, hash)
    WHERE call_id = begun.call_id;
  DELETE FROM queue WHERE call_id = begun.call_id;
END $$;

CREATE FUNCTION write_close(closed jsonb, link calls) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  said text := closed ->> 'answer';
BEGIN
  UPDATE calls SET status = coalesce(closed ->> 'status', status),
      completed_at = coalesce((closed ->> 'completed_at')::double precision, completed_at),
      output_hash = coalesce(closed ->> 'output_hash', output_hash),
      timeline = coalesce(closed ->> 'timeline', timeline),
      answer = CASE WHEN said IS NULL THEN answer
        WHEN phase IN ('waiting', 'queued') THEN left(said, -1) || ',' || substr(closed ->> 'known', 2)
        ELSE said END,
      phase = closed ->> 'phase', strand = coalesce(link.strand, strand),
      sequence = coalesce(link.sequence, sequence), hash = coalesce(link.hash, hash)
    WHERE call_id = closed ->> 'call_id';
  DELETE FROM queue WHERE call_id = closed ->> 'call_id';
END $$;

CREATE FUNCTION write_calls(u jsonb, link calls) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF u ? 'begin' THEN PERFORM write_begin(jsonb_populate_record(link, u -> 'begin')); END IF;
  IF u ? 'rerun' THEN
    UPDATE calls SET run_id = u -> 'rerun' ->> 'runId', attempt = (u -> 'rerun' ->> 'attempt')::integer,
        strand = coalesce(link.strand, strand), sequence = coalesce(link.sequence, sequence),
        hash = coalesce(link.hash, hash)
      WHERE call_id = u -> 'rerun' ->> 'callId';
  END IF;
  IF u ? 'close' THEN PERFORM write_close(u -> 'close', link); END IF;
  IF u ? 'cancel' THEN
    UPDATE calls SET cancel_reason = u -> 'cancel' ->> 'reason', cancel_held_until = 0,
        strand = coalesce(link.strand, strand), sequence = coalesce(link.sequence, sequence),
        hash = coalesce(link.hash, hash)
      WHERE call_id = u -> 'cancel' ->> 'callId' AND cancel_reason IS NULL;
  END IF;
END $$;
`;
