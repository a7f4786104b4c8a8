/**
 * The second step of the schema: partitions of the audit record are made apart and attached, and the archive may have
 * gaps, where a month could not be moved.
 *
 * Attaching needs no lock on `audit` that its writers or readers meet. It needs `audit_other` alone for a moment, because
 * rows of the month must not be there: that lock is taken at once or not at all, so nobody waits behind the attempt.
 */
export const ARCHIVE = `
-- The upkeep makes none any more: it would keep the lock for as long as it takes.
CREATE OR REPLACE FUNCTION make_audit_partitions() RETURNS void LANGUAGE sql AS 'SELECT';

CREATE FUNCTION missing_audit_months() RETURNS SETOF text LANGUAGE sql AS $$
  SELECT month FROM (
      SELECT to_char(date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') + make_interval(months => ahead),
        'YYYY_MM') AS month FROM generate_series(0, 2) AS ahead) AS wanted
    WHERE to_regclass('audit_' || month) IS NULL ORDER BY month
$$;

-- Rows of a month that is not over are moved only while they are few: their writers wait for it.
CREATE FUNCTION make_audit_partition(month text) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
DECLARE
  name text := 'audit_' || month;
  starts timestamp := to_date(month, 'YYYY_MM');
  ends timestamp := starts + interval '1 month';
  first text := to_char(starts, 'YYYY-MM-DD 00:00:00+00');
  next text := to_char(ends, 'YYYY-MM-DD 00:00:00+00');
  bounds text := format('written_at >= %L AND written_at < %L', first, next);
  moved text := format('WITH moved AS (DELETE FROM audit_other WHERE %s RETURNING *)
    INSERT INTO %I SELECT * FROM moved', bounds, name);
  few integer := 10000;
  found integer;
BEGIN
  EXECUTE format('CREATE TABLE %I (LIKE audit INCLUDING DEFAULTS INCLUDING INDEXES, CONSTRAINT of_month CHECK (%s))',
    name, bounds);
  EXECUTE format('SELECT count(*) FROM (SELECT FROM audit_other WHERE %s LIMIT %s) AS counted', bounds, few + 1) INTO found;
  IF found > few AND ends > clock_timestamp() AT TIME ZONE 'UTC' THEN
    EXECUTE format('DROP TABLE %I', name);
    RETURN false;
  END IF;
  IF found > few THEN EXECUTE moved; END IF;
  FOR try IN 1..20 LOOP
    BEGIN
      LOCK TABLE audit_other IN ACCESS EXCLUSIVE MODE NOWAIT;
      EXECUTE moved;
      EXECUTE format('ALTER TABLE audit ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, first, next);
      EXECUTE format('ALTER TABLE %I DROP CONSTRAINT of_month', name);
      RETURN true;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      PERFORM pg_sleep(0.05);
    END;
  END LOOP;
  RAISE lock_not_available USING MESSAGE = 'audit_other is being read';
END $$;

ALTER TABLE audit_archived ADD COLUMN after_sequence bigint NOT NULL DEFAULT 0, ADD COLUMN after_hash text,
  DROP CONSTRAINT audit_archived_pkey, ADD PRIMARY KEY (tenant_id, strand, sequence);
UPDATE audit_archived SET after_hash = lpad(strand::text, 64, '0');

-- Parts that follow one another become one row.
CREATE FUNCTION note_archived(part audit_archived) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  before audit_archived;
BEGIN
  DELETE FROM audit_archived AS a WHERE a.tenant_id = part.tenant_id AND a.strand = part.strand
    AND a.sequence = part.after_sequence AND a.hash = part.after_hash RETURNING * INTO before;
  IF FOUND THEN
    part.after_sequence := before.after_sequence;
    part.after_hash := before.after_hash;
  END IF;
  UPDATE audit_archived AS a SET after_sequence = part.after_sequence, after_hash = part.after_hash
    WHERE a.tenant_id = part.tenant_id AND a.strand = part.strand
      AND a.after_sequence = part.sequence AND a.after_hash = part.hash;
  IF NOT FOUND THEN INSERT INTO audit_archived SELECT part.*; END IF;
END $$;

CREATE TABLE audit_months (
  -- Such as 2026-08.
  month text COLLATE "C" PRIMARY KEY,
  name text,
  units bigint NOT NULL DEFAULT 0,
  -- Of the month as it was written to its place and verified.
  ends text,
  problem text,
  tries integer NOT NULL DEFAULT 0,
  retry_at double precision NOT NULL DEFAULT 0,
  archived_at double precision
);
`;
