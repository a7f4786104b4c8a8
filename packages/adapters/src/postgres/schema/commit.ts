/**
 * The audit record, the outbox, the ids of applied units, and the function that applies a batch of units.
 *
 * `commit_units` takes the units of one transaction in order. Each is checked whole before anything of it is written, and
 * gives one row: ["applied"], ["applied", strand, sequence, hash], or why it was refused, with the name of the conflict.
 * The rows a check has read stay locked until the commit, so nothing comes between. Whatever another transaction writes
 * first all the same (a key, an id) ends the batch with an error, and its sender tries again. Shared rows are locked in
 * one order for the whole batch, so that batches of different processes seldom deadlock. A batch with `waitMs` waits
 * no longer for a row.
 *
 * A unit's id is looked up before it is checked, once more before it is refused, and written at its end. A copy of the
 * unit that another connection still works on either commits first and is found, or fails on the id.
 *
 * The audit record is partitioned by month: old months are dropped whole once they are in the archive. Where the
 * archived part of a strand ends is noted, so that what remains is checked from there.
 */
export const COMMIT = `
CREATE TABLE applied_units (
  unit_id text COLLATE "C" PRIMARY KEY,
  position bigint GENERATED ALWAYS AS IDENTITY,
  applied_at double precision NOT NULL DEFAULT now_ms(),
  outcome jsonb NOT NULL
);
CREATE INDEX applied_units_by_position ON applied_units (position);

CREATE TABLE audit_heads (
  tenant_id text COLLATE "C" NOT NULL,
  strand integer NOT NULL,
  sequence bigint NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (tenant_id, strand)
) WITH (fillfactor = 50);

CREATE TABLE audit (
  tenant_id text COLLATE "C" NOT NULL,
  strand integer NOT NULL,
  sequence bigint NOT NULL,
  written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  hash text NOT NULL,
  body text NOT NULL
) PARTITION BY RANGE (written_at);
CREATE UNIQUE INDEX audit_by_sequence ON audit (tenant_id, strand, sequence, written_at);
CREATE TABLE audit_other PARTITION OF audit DEFAULT;

CREATE TABLE audit_archived (
  tenant_id text COLLATE "C" NOT NULL,
  strand integer NOT NULL,
  sequence bigint NOT NULL,
  hash text NOT NULL,
  archive text,
  PRIMARY KEY (tenant_id, strand)
);

CREATE FUNCTION make_audit_partitions() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  month timestamptz;
  name text;
  span text;
BEGIN
  FOR ahead IN 0..2 LOOP
    month := date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + make_interval(months => ahead);
    name := 'audit_' || to_char(month, 'YYYY_MM');
    CONTINUE WHEN to_regclass(name) IS NOT NULL;
    span := format('FOR VALUES FROM (%L) TO (%L)', to_char(month, 'YYYY-MM-01 00:00:00+00'),
      to_char(month + interval '1 month', 'YYYY-MM-01 00:00:00+00'));
    BEGIN
      EXECUTE format('CREATE TABLE %I PARTITION OF audit %s', name, span);
    EXCEPTION
      -- Another process makes it at this moment.
      WHEN duplicate_table OR unique_violation THEN CONTINUE;
      -- Nobody was there to make it in time, so that something of this month is in audit_other.
      WHEN check_violation THEN
        LOCK TABLE audit IN ACCESS EXCLUSIVE MODE;
        EXECUTE format('CREATE TABLE %I (LIKE audit INCLUDING DEFAULTS)', name);
        EXECUTE format('WITH moved AS (DELETE FROM audit_other WHERE to_char(written_at AT TIME ZONE ''UTC'', ''YYYY_MM'') = %L
          RETURNING *) INSERT INTO %I SELECT * FROM moved', to_char(month, 'YYYY_MM'), name);
        EXECUTE format('ALTER TABLE audit ATTACH PARTITION %I %s', name, span);
    END;
  END LOOP;
END $$;

CREATE TABLE outbox (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sink text COLLATE "C" NOT NULL,
  partition integer NOT NULL,
  tenant_id text NOT NULL,
  written_at double precision NOT NULL DEFAULT now_ms(),
  events text NOT NULL
);
CREATE INDEX outbox_by_partition ON outbox (sink, partition, position);

CREATE TABLE outbox_leases (
  sink text COLLATE "C" NOT NULL,
  partition integer NOT NULL,
  instance text COLLATE "C" NOT NULL,
  PRIMARY KEY (sink, partition)
);

-- A plan made while the tables were small is kept for the connection's life: it must not read them whole.
CREATE FUNCTION lock_shared(locks jsonb) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF locks ? 'calls' THEN
    PERFORM FROM calls WHERE call_id = ANY (ARRAY(SELECT jsonb_array_elements_text(locks -> 'calls')))
      ORDER BY call_id FOR UPDATE;
  END IF;
  IF locks ? 'grants' THEN
    PERFORM FROM grants WHERE grant_id = ANY (ARRAY(SELECT jsonb_array_elements_text(locks -> 'grants')))
      ORDER BY grant_id FOR UPDATE;
  END IF;
END $$;

CREATE FUNCTION unit_conflict(u jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  refused jsonb := calls_conflict(u);
BEGIN
  IF refused IS NULL AND u ? 'approvals' THEN refused := approvals_conflict(u -> 'approvals'); END IF;
  IF refused IS NULL AND u ? 'grants' THEN refused := grants_conflict(u -> 'grants'); END IF;
  IF refused IS NULL AND u ? 'limited' THEN refused := uses_conflict(u -> 'limited'); END IF;
  IF refused IS NULL AND u ? 'callbacks' THEN refused := callbacks_conflict(u -> 'callbacks'); END IF;
  IF refused IS NULL AND u ? 'tools' THEN refused := tools_conflict(u -> 'tools'); END IF;
  IF refused IS NULL AND u ? 'records' THEN refused := records_conflict(u -> 'records'); END IF;
  IF refused IS NULL AND u ? 'state' THEN refused := state_conflict(u -> 'state'); END IF;
  RETURN refused;
END $$;

CREATE FUNCTION write_parts(u jsonb, link calls) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM write_calls(u, link);
  IF u ? 'state' THEN PERFORM write_state(u -> 'state'); END IF;
  IF u ? 'approvals' THEN PERFORM write_approvals(u -> 'approvals'); END IF;
  IF u ? 'grants' THEN PERFORM write_grants(u -> 'grants'); END IF;
  IF u ? 'limited' THEN PERFORM write_limited_uses(u -> 'limited'); END IF;
  IF u ? 'revocations' THEN PERFORM write_revocations(u -> 'revocations'); END IF;
  IF u ? 'callbacks' THEN PERFORM write_callbacks(u -> 'callbacks'); END IF;
  IF u ? 'tools' THEN PERFORM write_tools(u -> 'tools'); END IF;
  IF u ? 'records' THEN PERFORM write_records(u -> 'records'); END IF;
  IF u ? 'sinks' THEN
    INSERT INTO outbox (sink, partition, tenant_id, events)
      SELECT sink, (u ->> 'partition')::integer, u ->> 'tenant', u ->> 'events'
      FROM jsonb_array_elements_text(u -> 'sinks') AS sink;
  END IF;
END $$;

CREATE FUNCTION find_head(tenant text, wanted integer) RETURNS audit_heads LANGUAGE plpgsql AS $$
DECLARE
  head audit_heads;
BEGIN
  LOOP
    SELECT * INTO head FROM audit_heads WHERE tenant_id = tenant AND strand = wanted FOR UPDATE;
    IF FOUND THEN RETURN head; END IF;
    INSERT INTO audit_heads VALUES (tenant, wanted, 0, lpad(wanted::text, 64, '0')) ON CONFLICT DO NOTHING;
  END LOOP;
END $$;

CREATE FUNCTION commit_units(batch jsonb) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
DECLARE
  u jsonb;
  outcome jsonb;
  head audit_heads;
  link calls;
  counted_ids text[] := '{}';
  counted_at double precision[] := '{}';
BEGIN
  IF batch ? 'waitMs' THEN PERFORM set_config('lock_timeout', batch ->> 'waitMs', true); END IF;
  PERFORM lock_shared(batch -> 'locks');
  FOR u IN SELECT * FROM jsonb_array_elements(batch -> 'units') LOOP
    outcome := NULL;
    IF u ? 'id' THEN
      SELECT a.outcome INTO outcome FROM applied_units a WHERE unit_id = u ->> 'id';
    END IF;
    IF outcome IS NOT NULL THEN RETURN NEXT outcome; CONTINUE; END IF;

    IF counted_ids <> '{}' AND (u ? 'limited' OR u ? 'returned') THEN
      PERFORM count_uses(counted_ids, counted_at);
      counted_ids := '{}'; counted_at := '{}';
    END IF;
    outcome := unit_conflict(u);

    link := NULL;
    IF outcome IS NULL AND u ? 'audit' THEN
      IF head.tenant_id IS DISTINCT FROM u ->> 'tenant' OR head.strand <> (u ->> 'strand')::integer THEN
        UPDATE audit_heads SET sequence = head.sequence, hash = head.hash
          WHERE tenant_id = head.tenant_id AND strand = head.strand;
        head := find_head(u ->> 'tenant', (u ->> 'strand')::integer);
      END IF;
      link.strand := head.strand;
      link.sequence := head.sequence + 1;
      link.hash := encode(sha256(convert_to(
        head.hash || E'\\n' || link.sequence || E'\\n' || (u ->> 'audit'), 'UTF8')), 'hex');
    END IF;
    IF outcome IS NULL AND u ? 'open' AND NOT write_open(u, link) THEN
      outcome := open_conflict(u -> 'open');
      IF outcome IS NULL THEN RAISE EXCEPTION 'a call met another' USING ERRCODE = '40001'; END IF;
    END IF;
    IF outcome IS NOT NULL THEN
      RETURN NEXT coalesce((SELECT a.outcome FROM applied_units a WHERE unit_id = u ->> 'id'), outcome);
      CONTINUE;
    END IF;

    PERFORM write_parts(u, link);
    IF u ? 'uses' THEN
      counted_ids := counted_ids || ARRAY(SELECT w ->> 0 FROM jsonb_array_elements(u -> 'uses') AS w
        WHERE EXISTS (SELECT FROM grants WHERE grant_id = w ->> 0));
      counted_at := counted_at || ARRAY(SELECT (w ->> 1)::double precision FROM jsonb_array_elements(u -> 'uses') AS w
        WHERE EXISTS (SELECT FROM grants WHERE grant_id = w ->> 0));
    END IF;
    IF u ? 'returned' THEN
      PERFORM count_uses(counted_ids, counted_at);
      counted_ids := '{}'; counted_at := '{}';
      PERFORM return_uses(u -> 'returned');
    END IF;
    outcome := '["applied"]';
    IF link.sequence IS NOT NULL THEN
      INSERT INTO audit (tenant_id, strand, sequence, hash, body)
        VALUES (u ->> 'tenant', link.strand, link.sequence, link.hash, u ->> 'audit');
      head.sequence := link.sequence;
      head.hash := link.hash;
      outcome := jsonb_build_array('applied', link.strand, link.sequence, link.hash);
    END IF;
    IF u ? 'id' THEN
      INSERT INTO applied_units (unit_id, outcome) VALUES (u ->> 'id', outcome);
    END IF;
    RETURN NEXT outcome;
  END LOOP;
  UPDATE audit_heads SET sequence = head.sequence, hash = head.hash
    WHERE tenant_id = head.tenant_id AND strand = head.strand;
  IF counted_ids <> '{}' THEN PERFORM count_uses(counted_ids, counted_at); END IF;
END $$;
`;
