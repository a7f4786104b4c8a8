import type { DatabaseSync, StatementSync } from "node:sqlite";
import { SallyportError } from "@sallyport/protocol";
import { failureOf, lost, sqliteCode } from "../sqlite/failures.ts";
import type { SyncedLog } from "./synced-log.ts";

/**
 * One connection on this thread. A commit appends to the write-ahead log without a sync, which a killed process does not
 * disturb. What is kept is then synced by the pool of threads, so that no other work waits for the disk: the sync covers
 * all that was appended before. SQLite itself syncs at checkpoints.
 */
export class Connection {
  readonly #database: DatabaseSync;
  readonly #log: SyncedLog | undefined;
  readonly #begin: Record<"IMMEDIATE" | "DEFERRED", StatementSync>;
  readonly #commit: StatementSync;
  #problem: SallyportError | undefined;
  #isClosed = false;

  /** Without a log to sync, what is kept survives the process, and not a power cut. */
  constructor(database: DatabaseSync, log: SyncedLog | undefined) {
    this.#database = database;
    this.#log = log;
    database.exec("PRAGMA synchronous = NORMAL");
    const [IMMEDIATE, DEFERRED] = [this.prepare("BEGIN IMMEDIATE"), this.prepare("BEGIN DEFERRED")];
    this.#begin = { IMMEDIATE, DEFERRED };
    this.#commit = this.prepare("COMMIT");
  }

  prepare(sql: string): StatementSync {
    return this.#database.prepare(sql);
  }

  /** One statement that is on disk, as far as the durability goes, when this resolves. */
  async keep<Result>(work: () => Result): Promise<Result> {
    const result = this.#guard(work);
    await this.#sync();
    return result;
  }

  /** One statement that survives the process, and a power cut once anything is kept after it. */
  async note<Result>(work: () => Result): Promise<Result> {
    return this.#guard(work);
  }

  /** As `keep`, for several statements: all of them or, when `work` throws, none. */
  async keepAll<Result>(work: () => Result): Promise<Result> {
    return this.keep(() => this.#transaction("IMMEDIATE", work));
  }

  /** As `keepAll`, and what `work` deletes is overwritten in the file: people delete what nobody is to read again. */
  async eraseAll<Result>(work: () => Result): Promise<Result> {
    return this.keep(() => {
      this.#database.exec("PRAGMA secure_delete = ON");
      try {
        return this.#transaction("IMMEDIATE", work);
      } finally {
        // Closing a batch deletes too, many times in a conversation, and would be slowed down.
        this.#database.exec("PRAGMA secure_delete = OFF");
      }
    });
  }

  /** Gives unused pages back to the disk, and empties the write-ahead log; resolves with the bytes of those pages. */
  async compact(): Promise<number> {
    return this.keep(() => {
      const unused = this.#pragma("freelist_count") * this.#pragma("page_size");
      if (unused > 0) this.#database.exec("VACUUM");
      this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      return unused;
    });
  }

  #pragma(name: "freelist_count" | "page_size"): number {
    return Number(this.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
  }

  async read<Result>(work: () => Result): Promise<Result> {
    return this.#guard(work);
  }

  /** As `read`, for several statements: all see the same moment. */
  async readAll<Result>(work: () => Result): Promise<Result> {
    return this.#guard(() => this.#transaction("DEFERRED", work));
  }

  /** Later uses reject with E3914; a second time nothing happens. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#database.close();
    await this.#log?.close();
  }

  /** Never tried again: what a failed sync lost, the kernel does not say a second time. */
  async #sync(): Promise<void> {
    try {
      await this.#log?.sync();
    } catch (cause) {
      this.#problem = new SallyportError(failureOf(cause, "The conversations cannot be synced"), { cause });
      throw this.#problem;
    }
  }

  #guard<Result>(work: () => Result): Result {
    if (this.#isClosed) throw lost("The conversations have been closed.");
    if (this.#problem) throw this.#problem;
    try {
      return work();
    } catch (cause) {
      if (sqliteCode(cause) === 0) throw cause;
      throw new SallyportError(failureOf(cause, "The conversations cannot be used"), { cause });
    }
  }

  #transaction<Result>(kind: "IMMEDIATE" | "DEFERRED", work: () => Result): Result {
    this.#begin[kind].run();
    try {
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }
}
