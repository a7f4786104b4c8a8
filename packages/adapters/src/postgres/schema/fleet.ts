/**
 * The processes that use the store, and the clock they share. Times are milliseconds since 1970 in double precision, the
 * numbers the ports speak of; a lease may be infinite. A slot is given under a lock, so no two live instances have one.
 */
export const FLEET = `
CREATE FUNCTION now_ms() RETURNS double precision LANGUAGE sql VOLATILE AS
  $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::double precision $$;

CREATE TABLE instances (
  instance text COLLATE "C" PRIMARY KEY,
  slot integer NOT NULL,
  expires_at double precision NOT NULL,
  started_at double precision NOT NULL,
  about text NOT NULL
);

CREATE FUNCTION is_live(name text) RETURNS boolean LANGUAGE sql VOLATILE AS
  $$ SELECT EXISTS (SELECT FROM instances WHERE instance = name AND expires_at > now_ms()) $$;

CREATE FUNCTION renew_instance(name text, ttl_ms double precision, said text) RETURNS instances
LANGUAGE plpgsql AS $$
DECLARE
  lease instances;
BEGIN
  UPDATE instances SET expires_at = now_ms() + ttl_ms, about = coalesce(said, about)
    WHERE instance = name AND expires_at > now_ms() RETURNING * INTO lease;
  IF FOUND THEN RETURN lease; END IF;
  LOCK TABLE instances IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM instances WHERE expires_at <= now_ms();
  INSERT INTO instances VALUES (name, (
      SELECT min(free) FROM generate_series(0, (SELECT count(*) FROM instances)) AS free
        WHERE NOT EXISTS (SELECT FROM instances WHERE slot = free)),
      now_ms() + ttl_ms, now_ms(), coalesce(said, '{}'))
    ON CONFLICT (instance) DO UPDATE SET expires_at = excluded.expires_at, about = coalesce(said, instances.about)
    RETURNING * INTO lease;
  RETURN lease;
END $$;
`;
