import { statSync } from "node:fs";
import { join } from "node:path";
import { openSqliteConversations } from "@sallyport/adapters/conversations";
import { DATABASE_FILE, openSqliteStore } from "@sallyport/adapters/sqlite";
import { createMemoryStore, MemoryBus } from "@sallyport/engine";
import type { Bus, Store } from "@sallyport/engine/ports";
import type { Conversations } from "@sallyport/loop";
import type { LoadedConfig } from "../config/load.ts";

/* The one place that knows which store a configuration means. */

export type { CallOutline, OutlinedEnd, OutlineReader } from "@sallyport/adapters/sqlite";

type StoreSettings = Pick<LoadedConfig, "stateFolder" | "durability">;

/** A store, with the bus between the processes that use it. */
export interface Persistence {
  readonly store: Store;
  readonly bus: Bus;
  /** Closes both. */
  close(): Promise<void>;
}

/** Opens the store to read and write. E3915 when it is embedded and another process has it. */
export async function openPersistence(config: StoreSettings): Promise<Persistence> {
  const store = await openSqliteStore({ folder: config.stateFolder, durability: config.durability });
  return { store, bus: new MemoryBus(), close: () => store.close() };
}

/** Opens the store to read, also while another process writes to it; an empty one where nothing was ever stored. */
export async function openStoreToRead({ stateFolder }: Pick<LoadedConfig, "stateFolder">): Promise<Store> {
  return hasStore({ stateFolder })
    ? await openSqliteStore({ folder: stateFolder, readOnly: true })
    : createMemoryStore();
}

/** Opens the conversations of the tool loop; several processes may. */
export function openConversations({ stateFolder, durability }: StoreSettings): Promise<Conversations> {
  return openSqliteConversations({ folder: stateFolder, durability });
}

/** Whether anything was ever stored; a first start that was cut off leaves an empty file. */
export function hasStore({ stateFolder }: Pick<LoadedConfig, "stateFolder">): boolean {
  return (statSync(join(stateFolder, DATABASE_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;
}
