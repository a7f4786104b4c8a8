/**
 * The outbox's publishers, and the upkeep that any one process does from time to time: what has had its time is deleted,
 * and counts are added up.
 */
export const UPKEEP = `
CREATE TABLE outbox_publishers (
  sink text COLLATE "C" NOT NULL,
  instance text COLLATE "C" NOT NULL,
  expires_at double precision NOT NULL,
  PRIMARY KEY (sink, instance)
);

CREATE FUNCTION settle_partitions(wanted text, me text, partitions integer, lease_ms double precision)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  share integer;
  held integer;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('sallyport-outbox'), hashtext(current_schema() || wanted));
  INSERT INTO outbox_publishers VALUES (wanted, me, now_ms() + lease_ms)
    ON CONFLICT (sink, instance) DO UPDATE SET expires_at = excluded.expires_at
      WHERE outbox_publishers.expires_at <= now_ms() + lease_ms / 2;
  DELETE FROM outbox_publishers WHERE sink = wanted AND expires_at <= now_ms();
  DELETE FROM outbox_leases WHERE sink = wanted
    AND instance NOT IN (SELECT instance FROM outbox_publishers WHERE sink = wanted);
  SELECT ceil(partitions::numeric / count(*)) INTO share FROM outbox_publishers WHERE sink = wanted;
  SELECT count(*) INTO held FROM outbox_leases WHERE sink = wanted AND instance = me;
  IF held > share THEN
    DELETE FROM outbox_leases WHERE sink = wanted AND instance = me AND partition IN (
      SELECT partition FROM outbox_leases WHERE sink = wanted AND instance = me
        ORDER BY partition DESC LIMIT held - share);
  ELSE
    INSERT INTO outbox_leases SELECT wanted, free, me FROM generate_series(0, partitions - 1) AS free
      WHERE free NOT IN (SELECT partition FROM outbox_leases WHERE sink = wanted)
      ORDER BY free LIMIT share - held;
  END IF;
END $$;

CREATE FUNCTION outbox_pending(wanted text, me text, at_most jsonb) RETURNS SETOF outbox LANGUAGE plpgsql AS $$
DECLARE
  partitions integer := at_most ->> 'partitions';
  lease_ms double precision := at_most ->> 'leaseMs';
  share integer;
  fresh boolean;
BEGIN
  SELECT ceil(partitions::numeric / count(*)), bool_or(instance = me AND expires_at > now_ms() + lease_ms / 2)
    INTO share, fresh FROM outbox_publishers WHERE sink = wanted HAVING bool_and(expires_at > now_ms());
  IF fresh IS NOT TRUE
    OR share <> (SELECT count(*) FROM outbox_leases WHERE sink = wanted AND instance = me) THEN
    PERFORM settle_partitions(wanted, me, partitions, lease_ms);
  END IF;
  RETURN QUERY SELECT position, sink, partition, tenant_id, written_at, events FROM (
      SELECT first.*, sum(length(events)) OVER (ORDER BY position) - length(events) AS chars_before FROM (
        SELECT * FROM outbox o WHERE o.sink = wanted AND o.partition IN (
            SELECT l.partition FROM outbox_leases l WHERE l.sink = wanted AND l.instance = me)
          ORDER BY o.position LIMIT (at_most ->> 'batches')::bigint) AS first) AS page
    WHERE chars_before < (at_most ->> 'chars')::bigint ORDER BY position;
END $$;

CREATE TABLE probe (at timestamptz NOT NULL);
INSERT INTO probe VALUES (clock_timestamp());

CREATE FUNCTION tidy(keep_state_ms double precision, remembered bigint, remember_ms double precision) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  busy text;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtext('sallyport-tidy'), hashtext(current_schema())) THEN RETURN false; END IF;
  PERFORM make_audit_partitions();
  DELETE FROM applied_units WHERE applied_at < now_ms() - remember_ms
    AND position <= (SELECT max(position) FROM applied_units) - remembered;
  DELETE FROM records WHERE expires_at <= now_ms();
  DELETE FROM token_revocations WHERE forget_at <= now_ms();
  PERFORM forget_state(now_ms() - keep_state_ms, 100000);
  FOR busy IN SELECT DISTINCT grant_id FROM grant_counts ORDER BY grant_id LOOP
    PERFORM lock_grant(busy);
  END LOOP;
  RETURN true;
END $$;
`;
