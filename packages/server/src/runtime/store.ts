import { statSync } from "node:fs";
import { join } from "node:path";
import { openSqliteConversations } from "@sallyport/adapters/conversations";
import { DATABASE_FILE, openSqliteStore } from "@sallyport/adapters/sqlite";
import { createMemoryStore } from "@sallyport/engine";
import type { Store } from "@sallyport/engine/ports";
import type { Conversations } from "@sallyport/loop";
import type { LoadedConfig } from "../config/load.ts";

/* The one place that knows which store a configuration means. */

export type { CallOutline, OutlinedEnd, OutlineReader } from "@sallyport/adapters/sqlite";

type StoreSettings = Pick<LoadedConfig, "stateFolder" | "durability">;

/** Opens the store to read and write. E3915 when another process has it. */
export function openStore({ stateFolder, durability }: StoreSettings): Promise<Store> {
  return openSqliteStore({ folder: stateFolder, durability });
}

/** Opens the store to read, also while another process writes to it; an empty one where nothing was ever stored. */
export async function openStoreToRead({ stateFolder }: Pick<LoadedConfig, "stateFolder">): Promise<Store> {
  return hasStore(stateFolder)
    ? await openSqliteStore({ folder: stateFolder, readOnly: true })
    : createMemoryStore();
}

/** Opens the conversations of the tool loop; several processes may. */
export function openConversations({ stateFolder, durability }: StoreSettings): Promise<Conversations> {
  return openSqliteConversations({ folder: stateFolder, durability });
}

/** Whether anything was ever stored in the folder; a first start that was cut off leaves an empty file. */
export function hasStore(stateFolder: string): boolean {
  return (statSync(join(stateFolder, DATABASE_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;
}
