import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";

/** A write-ahead log that can be synced without holding up this thread. */
export interface SyncedLog {
  /** Resolves when all that was in the log is on disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The log of a database that is open: SQLite truncates it in place and removes it with the last connection only, so one
 * handle stays good. Its locks are on other files, which closing this handle does not touch.
 */
export function syncedLogOf(database: string): SyncedLog {
  let opened: Promise<FileHandle> | undefined;
  return {
    sync: async () => {
      opened ??= openLog(database);
      await (await opened).datasync();
    },
    close: async () => {
      // A log that could not be opened was said to be lost by the sync that needed it.
      const log = await opened?.catch(() => undefined);
      await log?.close();
    },
  };
}

/** The name of a new log has to survive too. */
async function openLog(database: string): Promise<FileHandle> {
  const log = await open(`${database}-wal`, "r+");
  const folder = await open(dirname(database), "r");
  await folder.sync().finally(() => folder.close());
  return log;
}
