/**
 * The function that finds the first write on another revision than its row has, and locks what it reads. Each write is
 * taken to follow those before it.
 */
export function revisionConflict(table: string, conflict: string, keys: readonly string[]): string {
  const list = (text: (key: string) => string, between: string) => keys.map(text).join(between);
  return `
CREATE FUNCTION ${table}_conflict(writes jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  w jsonb;
  written jsonb := '{}';
  name text;
  newest bigint;
BEGIN
  FOR w IN SELECT * FROM jsonb_array_elements(writes) LOOP
    name := jsonb_build_array(${list((key) => `w -> '${key}'`, ", ")})::text;
    newest := (written ->> name)::bigint;
    IF newest IS NULL THEN
      SELECT revision INTO newest FROM ${table}
        WHERE ${list((key) => `${key} = w ->> '${key}'`, " AND ")} FOR UPDATE;
    END IF;
    IF newest IS DISTINCT FROM (w ->> 'expect')::bigint THEN
      RETURN jsonb_build_array('${conflict}', ${list((key) => `w ->> '${key}'`, ", ")});
    END IF;
    written := jsonb_set(written, ARRAY[name], w -> 'revision');
  END LOOP;
  RETURN NULL;
END $$;`;
}
