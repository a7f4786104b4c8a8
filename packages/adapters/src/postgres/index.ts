export { openPostgresBus, type PostgresBus, type PostgresBusOptions } from "./bus.ts";
export { openPostgresStore, type PostgresStoreOptions } from "./open-store.ts";
