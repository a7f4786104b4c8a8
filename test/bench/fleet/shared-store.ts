import { openPostgresStore } from "@sallyport/adapters/postgres";
import type { Store } from "@sallyport/engine/ports";

/** The store that every replica opens: a schema of a database. */
export function openShared({ url = "", schema = "" }: Record<string, string>): Promise<Store> {
  return openPostgresStore({ connectionString: url, schema });
}
