import type { DatabaseSync } from "node:sqlite";
import { encodeReceipt } from "./call-rows.ts";
import { ChainHeads } from "./chain-heads.ts";
import { failureOf } from "./failures.ts";
import { GrantCounts } from "./grant-counts.ts";
import type { Job, Outcome, PermitJob, ToolRow, UnitJob } from "./messages.ts";
import { OutboxPositions } from "./outbox-positions.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import { callbackConflict, writeCallbacks } from "./write-callbacks.ts";
import {
  beginConflict,
  closeConflict,
  type Found,
  findCalls,
  openConflict,
  writeCalls,
} from "./write-calls.ts";
import { permitConflict, writePermits } from "./write-permits.ts";
import { stateConflicts, writeState } from "./write-state.ts";

/**
 * Applies jobs to the database. A batch is one transaction: begun, every job checked and written, heads written,
 * committed. A job that conflicts writes nothing and disturbs no other. An unexpected error rolls the whole batch
 * back, and each job then runs again in a transaction of its own, so that only the guilty one fails. What is cached
 * (heads, positions) moves on only after a commit.
 */
export class BatchWriter {
  readonly #database: DatabaseSync;
  readonly #sql: Statements;
  readonly #heads: ChainHeads;
  readonly #outbox: OutboxPositions;
  readonly #counts: GrantCounts;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#sql = prepareStatements(database);
    this.#heads = new ChainHeads(this.#sql);
    this.#outbox = new OutboxPositions(this.#sql);
    this.#counts = new GrantCounts(this.#sql);
  }

  /** One outcome for each job, in order. Never throws. */
  apply(jobs: readonly Job[]): Outcome[] {
    try {
      return this.#transaction(jobs);
    } catch (error) {
      if (jobs.length === 1) return [["failed", failureOf(error, "The unit could not be written")]];
      return jobs.flatMap((job) => this.apply([job]));
    }
  }

  #transaction(jobs: readonly Job[]): Outcome[] {
    this.#sql.begin.run();
    try {
      const outcomes = jobs.map((job) => this.#applyOne(job));
      this.#heads.write();
      this.#outbox.write();
      this.#counts.write();
      this.#sql.commit.run();
      this.#heads.committed();
      this.#outbox.committed();
      return outcomes;
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  #rollBack(): void {
    this.#heads.rolledBack();
    this.#outbox.rolledBack();
    this.#counts.rolledBack();
    if (this.#database.isTransaction) this.#sql.rollback.run();
  }

  #applyOne(job: Job): Outcome {
    if (job[0] === "unit") return this.#applyUnit(job);
    this.#outbox.delivered(job[1]);
    return ["applied", 0, []];
  }

  #applyUnit(job: UnitJob): Outcome {
    const found = findCalls(this.#sql, job);
    return this.#conflict(job, found) ?? this.#write(job, found);
  }

  /**
   * Whatever must not be written, found before anything is. A call that must not be opened shows when it is inserted;
   * it is looked for here only beside parts whose conflicts come after it.
   */
  #conflict(job: UnitJob, { begun, closed }: Found): Outcome | undefined {
    const [, , open, close, state, , , , begin, permits, , , callbacks, closeFrom] = job;
    const refused =
      (open && (begin ?? close ?? permits ?? callbacks ?? state) && openConflict(this.#sql, open)) ??
      (begin && beginConflict(this.#sql, begin, begun)) ??
      (close && closeConflict(close, { found: closed, from: closeFrom })) ??
      (permits && permitConflict(this.#sql, permits)) ??
      (callbacks && callbackConflict(this.#sql, callbacks));
    if (refused) return refused;
    const keys = state ? stateConflicts(this.#sql, state) : [];
    return keys.length === 0 ? undefined : ["state", keys];
  }

  /** The calls come first: when one cannot be opened nothing has been written. */
  #write(job: UnitJob, found: Found): Outcome {
    const [, tenant, , , state, tools, events, outbox, , permits, uses, , callbacks] = job;
    const run = this.#heads.link(tenant, events);
    const receipt = events.length > 0 ? encodeReceipt(run.last) : null;
    const refused = writeCalls(this.#sql, job, { found, receipt });
    if (refused) return refused;
    if (state) writeState(this.#sql, state);
    if (permits) this.#writePermits(permits);
    if (uses) this.#counts.add(uses);
    if (callbacks) writeCallbacks(this.#sql, callbacks);
    if (tools) for (const tool of tools) this.#putTool(tool);
    if (events.length > 0) this.#heads.add(tenant, run);
    this.#outbox.append(outbox);
    return ["applied", run.firstSequence, run.hashes];
  }

  #writePermits(permits: PermitJob): void {
    if (permits.grants.length > 0) this.#counts.write();
    writePermits(this.#sql, permits);
  }

  #putTool({ definition, version }: ToolRow): void {
    this.#sql.putDefinition.run(...definition);
    this.#sql.putVersion.run(...version);
  }
}
