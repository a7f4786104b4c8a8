import type { DatabaseSync, StatementSync } from "node:sqlite";
import { SallyportError } from "@sallyport/protocol";
import { failureOf, lost, sqliteCode } from "../sqlite/failures.ts";
import type { Durability } from "../sqlite/options.ts";

/**
 * One connection on this thread. `FULL` syncs the write-ahead log at a commit and with it whatever was committed
 * unsynced before; `NORMAL` leaves that to the kernel, which a killed process does not disturb. The level is switched
 * only when the next write needs the other one, because that costs less than a second connection, whose every write
 * would empty the page cache of the first.
 */
export class Connection {
  readonly #database: DatabaseSync;
  readonly #durable: "FULL" | "NORMAL";
  readonly #begin: Record<"IMMEDIATE" | "DEFERRED", StatementSync>;
  readonly #commit: StatementSync;
  #level: "FULL" | "NORMAL" | undefined;
  #isClosed = false;

  constructor(database: DatabaseSync, durability: Durability) {
    this.#database = database;
    this.#durable = durability === "power" ? "FULL" : "NORMAL";
    const [IMMEDIATE, DEFERRED] = [this.prepare("BEGIN IMMEDIATE"), this.prepare("BEGIN DEFERRED")];
    this.#begin = { IMMEDIATE, DEFERRED };
    this.#commit = this.prepare("COMMIT");
  }

  prepare(sql: string): StatementSync {
    return this.#database.prepare(sql);
  }

  /** One statement that is on disk, as far as the durability goes, when this resolves. */
  async keep<Result>(work: () => Result): Promise<Result> {
    return this.#guard(() => {
      this.#switchTo(this.#durable);
      return work();
    });
  }

  /** One statement that survives the process, and a power cut once anything is kept after it. */
  async note<Result>(work: () => Result): Promise<Result> {
    return this.#guard(() => {
      this.#switchTo("NORMAL");
      return work();
    });
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
  }

  #guard<Result>(work: () => Result): Result {
    if (this.#isClosed) throw lost("The conversations have been closed.");
    try {
      return work();
    } catch (cause) {
      if (sqliteCode(cause) === 0) throw cause;
      throw new SallyportError(failureOf(cause, "The conversations cannot be used"), { cause });
    }
  }

  #switchTo(level: "FULL" | "NORMAL"): void {
    if (level === this.#level) return;
    this.#database.exec(`PRAGMA synchronous = ${level}`);
    this.#level = level;
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
