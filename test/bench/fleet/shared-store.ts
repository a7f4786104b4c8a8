import * as postgres from "@sallyport/adapters/postgres";
import type { Store } from "@sallyport/engine/ports";

type OpenStore = (options: { connectionString: string; schema: string }) => Promise<Store>;

/** The store that every replica opens: a schema of a database. */
export function openShared({ url = "", schema = "" }: Record<string, string>): Promise<Store> {
  const { openPostgresStore } = postgres as object as { openPostgresStore?: OpenStore };
  if (!openPostgresStore) throw new Error("There is no store in PostgreSQL here.");
  return openPostgresStore({ connectionString: url, schema });
}
