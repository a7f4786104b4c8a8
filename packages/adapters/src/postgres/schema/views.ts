/**
 * The tables of seed 004 §5.1, under their names and with their columns, for people who query them. What is kept as JSON
 * text is shown as jsonb where PostgreSQL can hold it; text with characters that it cannot hold is shown as a string.
 */
export const VIEWS = `
CREATE FUNCTION as_jsonb(kept text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN kept::jsonb;
EXCEPTION WHEN others THEN
  RETURN to_jsonb(kept);
END $$;

CREATE FUNCTION as_time(ms double precision) RETURNS timestamp LANGUAGE sql IMMUTABLE AS
  $$ SELECT to_timestamp(ms / 1000) AT TIME ZONE 'UTC' $$;

CREATE VIEW tool_versions AS
  SELECT version_id, tool_id, version, as_jsonb(manifest) AS manifest,
    as_jsonb(manifest) ->> 'compatibilityRange' AS compatibility_range,
    as_jsonb(manifest) ->> 'releaseNotes' AS release_notes,
    as_jsonb(retirement) ->> 'replacement' AS deprecated_in_favor_of,
    as_time(registered_at) AS created_at,
    as_time((as_jsonb(retirement) ->> 'removedAt')::double precision) AS removed_at
  FROM tools;

CREATE VIEW tool_invocations AS
  SELECT call_id AS invocation_id, tool_id, tool_version, agent_did, tenant_id, session_id,
    as_jsonb(parameters) AS parameters, as_jsonb(answer) -> 'result' AS result,
    coalesce(status, phase) AS status, as_jsonb(answer) -> 'error' ->> 'code' AS error_code,
    as_jsonb(answer) -> 'error' ->> 'message' AS error_message,
    as_time(started_at) AS started_at, as_time(completed_at) AS completed_at,
    (completed_at - started_at)::integer AS duration_ms,
    (as_jsonb(answer) -> 'usage' ->> 1)::numeric::integer AS cpu_used_millicore_seconds,
    ((as_jsonb(answer) -> 'usage' ->> 2)::numeric / 1048576)::integer AS memory_peak_mb,
    (as_jsonb(answer) -> 'usage' ->> 3)::numeric::bigint AS network_bytes_sent,
    (as_jsonb(answer) -> 'usage' ->> 4)::numeric::bigint AS network_bytes_received,
    NULL::jsonb AS documents_accessed, NULL::jsonb AS checkpoints_created, NULL::varchar(255) AS checkpoint_ref,
    as_time(started_at) AS created_at
  FROM calls;

CREATE TABLE tool_checkpoints (
  checkpoint_id uuid PRIMARY KEY,
  invocation_id text COLLATE "C" REFERENCES calls (call_id) ON DELETE CASCADE,
  checkpoint_type varchar(20) NOT NULL,
  checkpoint_label varchar(255),
  parent_checkpoint_id uuid,
  is_delta boolean DEFAULT false,
  state text NOT NULL,
  state_compressed bytea,
  state_size_bytes integer,
  progress_percent integer,
  current_phase varchar(100),
  document_versions text,
  created_at timestamp DEFAULT (clock_timestamp() AT TIME ZONE 'UTC'),
  expires_at timestamp,
  archived_at timestamp
);
CREATE INDEX idx_checkpoint_invocation ON tool_checkpoints (invocation_id);
CREATE INDEX idx_checkpoint_type ON tool_checkpoints (checkpoint_type);
CREATE INDEX idx_checkpoint_expires_at ON tool_checkpoints (expires_at) WHERE expires_at IS NOT NULL;

CREATE VIEW tool_definitions AS
  SELECT DISTINCT ON (tool_id) tool_id, m ->> 'name' AS tool_name, m ->> 'description' AS description,
    m ->> 'category' AS category, ARRAY(SELECT jsonb_array_elements_text(m -> 'tags')) AS tags,
    version AS latest_version, m -> 'source' ->> 'type' AS source_type, m -> 'source' AS source_metadata,
    CASE WHEN (r ->> 'removedAt')::double precision <= now_ms() THEN 'removed'
      WHEN (r ->> 'sunsetAt')::double precision <= now_ms() THEN 'sunset'
      WHEN (r ->> 'deprecatedAt')::double precision <= now_ms() THEN 'deprecated'
      ELSE 'active' END AS deprecation_state,
    as_time((r ->> 'deprecatedAt')::double precision) AS deprecation_date,
    as_time(registered_at) AS created_at, as_time(updated_at) AS updated_at,
    (m ->> 'requiresApproval')::boolean AS requires_approval,
    ((m -> 'limits' ->> 'timeoutMs')::numeric / 1000)::integer AS default_timeout_seconds,
    (m -> 'limits' ->> 'cpuMillicores')::numeric::integer AS default_cpu_millicore_limit,
    ((m -> 'limits' ->> 'memoryBytes')::numeric / 1048576)::integer AS default_memory_mb_limit,
    m -> 'permissions' AS required_permissions,
    (SELECT jsonb_object_agg(key, value -> 'outputSchema') FROM jsonb_each(m -> 'operations')) AS result_schema,
    m -> 'retry' AS retry_policy,
    m -> 'circuitBreaker' AS circuit_breaker_config
  FROM (SELECT *, as_jsonb(manifest) AS m, as_jsonb(retirement) AS r FROM tools) AS kept
  ORDER BY tool_id, registered_at DESC, position DESC;
`;
