export type { CallOutline, OutlinedEnd, OutlineReader } from "../store-rows/outlines.ts";
export { DATABASE_FILE } from "./folder.ts";
export { lockFile } from "./folder-lock.ts";
export { openSqliteStore } from "./open-store.ts";
export type { Durability, SqliteStoreOptions } from "./options.ts";
export { keepOutOfGit } from "./private-files.ts";
