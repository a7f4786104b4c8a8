/**
 * What an acknowledged unit survives. `power`: a power cut, because every commit is synced to the disk. `process`:
 * a crash or kill of this process, but a power cut may take the newest units (never half of one).
 */
export type Durability = "power" | "process";

export interface SqliteStoreOptions {
  /** Created with mode 0700 when it is not there. */
  folder: string;
  /** Default `power`. */
  durability?: Durability;
  /** How long to wait for another process to let go of the folder before E3915, or to make the tables. Default 5,000. */
  waitForLockMs?: number;
  /** Opens without the lock, beside a process that writes; every write then rejects with E3914. */
  readOnly?: boolean;
  /** How long what a state snapshot sees is kept, in milliseconds. Default: 25 hours, because a call may take a day. */
  stateRetentionMs?: number;
  /** The clock that leases are measured by, in Unix milliseconds. Default `Date.now`. */
  now?: () => number;
}

/** What the writer thread is started with. */
export interface WriterOptions {
  folder: string;
  durability: Durability;
  waitForLockMs: number;
}
