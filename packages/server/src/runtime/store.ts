import { statSync } from "node:fs";
import { join } from "node:path";
import { openSqliteConversations } from "@sallyport/adapters/conversations";
import { DATABASE_FILE, openSqliteStore } from "@sallyport/adapters/sqlite";
import { createMemoryStore, MemoryBus } from "@sallyport/engine";
import type { AuditArchiver, Bus, Store } from "@sallyport/engine/ports";
import type { Conversations } from "@sallyport/loop";
import { failure, SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { readSecret, secretPlace } from "./configured-secrets.ts";
import { requireReadable, takeFolder } from "./own-folder.ts";

/* The one place that knows which store a configuration means. */

export type { CallOutline, OutlinedEnd, OutlineReader } from "@sallyport/adapters/sqlite";

type StoreSettings = Pick<LoadedConfig, "store" | "folder" | "stateFolder" | "durability">;
/** Without `store` the embedded one is meant. */
type ReadSettings = Pick<LoadedConfig, "stateFolder"> & Partial<StoreSettings>;
type PostgresSettings = NonNullable<LoadedConfig["store"]["postgres"]>;

/** A store, with the bus between the processes that use it. */
export interface Persistence {
  readonly store: Store & Partial<AuditArchiver>;
  readonly bus: Bus;
  /** For files of this process alone: staged files, undo data, sockets. The state folder, unless another process has it. */
  readonly ownFolder: string;
  /** Closes store and bus and lets go of the folder. */
  close(): Promise<void>;
}

export interface PersistenceOptions {
  /** It has to be the state folder itself that this process gets; otherwise E3915. */
  needsStateFolder?: boolean | undefined;
  /** Told when the bus has lost its connection. */
  onBusProblem?: ((reason: string) => void) | undefined;
}

/** Opens the store to read and write. E3915 when it is embedded and another process has it, E3914 when it cannot be had. */
export async function openPersistence(
  config: StoreSettings,
  options: PersistenceOptions = {},
): Promise<Persistence> {
  const { postgres } = config.store;
  if (postgres) return await openShared(config, { ...options, postgres });
  const { stateFolder: folder, durability } = config;
  const store = await openSqliteStore({ folder, durability });
  return { store, bus: new MemoryBus(), ownFolder: folder, close: () => store.close() };
}

async function openShared(
  config: StoreSettings,
  { postgres, needsStateFolder, onBusProblem }: PersistenceOptions & { postgres: PostgresSettings },
): Promise<Persistence> {
  const folder = takeFolder(config.stateFolder, { itself: needsStateFolder });
  try {
    const { openPostgresBus } = await import("@sallyport/adapters/postgres");
    const connectionString = addressOf(config, postgres);
    const store = await openPostgres(config, postgres);
    const { schema } = postgres;
    const bus = openPostgresBus({
      connectionString,
      schema,
      ...(onBusProblem && { onProblem: onBusProblem }),
    });
    const close = async () => {
      await bus[Symbol.asyncDispose]();
      await store.close();
      folder.release();
    };
    return { store, bus, ownFolder: folder.path, close };
  } catch (error) {
    folder.release();
    throw error;
  }
}

async function openPostgres(
  config: Pick<LoadedConfig, "folder">,
  postgres: PostgresSettings,
): Promise<Store & AuditArchiver> {
  const { url: _url, auditDays: _days, ...settings } = postgres;
  const { openPostgresStore } = await import("@sallyport/adapters/postgres");
  return await openPostgresStore({ connectionString: addressOf(config, postgres), ...settings });
}

/** E3301 when the variable or the file that is named does not hold an address; its text is never told. */
function addressOf({ folder }: Pick<LoadedConfig, "folder">, { url }: PostgresSettings): string {
  if (typeof url === "string") return url;
  const address = readSecret(url, folder);
  const isAddress = address !== undefined && /^postgres(ql)?:\/\//.test(address) && URL.canParse(address);
  if (isAddress) return address;
  const message = `${secretPlace(url)}, which store.postgres.url names, holds no address of a PostgreSQL database.`;
  const advice = "Put postgres://user:password@host/database there.";
  throw new SallyportError(failure("E3301", { message, advice }));
}

/** Opens the store to read, also while other processes write to it; an empty one where nothing was ever stored. */
async function openStoreToRead(config: ReadSettings): Promise<Store & Partial<AuditArchiver>> {
  const { stateFolder, folder = stateFolder, store } = config;
  if (store?.postgres) return await openPostgres({ folder }, store.postgres);
  return hasStore(config)
    ? await openSqliteStore({ folder: stateFolder, readOnly: true })
    : createMemoryStore();
}

/** The same, for the time of `use`. */
export async function readStore<Result>(
  config: ReadSettings,
  use: (store: Store & Partial<AuditArchiver>) => Promise<Result>,
): Promise<Result> {
  const store = await openStoreToRead(config);
  return await use(store).finally(() => store.close());
}

/** Opens the conversations of the tool loop, which stay on this machine; several processes may. */
export function openConversations({
  stateFolder,
  durability,
}: Pick<LoadedConfig, "stateFolder" | "durability">): Promise<Conversations> {
  return openSqliteConversations({ folder: stateFolder, durability });
}

/** Whether there is a store to read; a first start on the embedded one that was cut off leaves an empty file. */
export function hasStore({ store, stateFolder }: ReadSettings): boolean {
  if (store?.postgres) return true;
  requireReadable(stateFolder);
  return (statSync(join(stateFolder, DATABASE_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** The store in words, for people; names no secret. */
export function storeName({ store, durability }: Pick<LoadedConfig, "store" | "durability">): string {
  const { postgres } = store;
  if (!postgres) return `SQLite in the state folder, durability ${durability}`;
  const { url, schema } = postgres;
  const at =
    typeof url === "string"
      ? new URL(url).host
      : "env" in url
        ? `the address in ${url.env}`
        : `the address in ${url.file}`;
  return `PostgreSQL at ${at}, schema ${schema}, shared with other processes`;
}
