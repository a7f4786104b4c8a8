import type { DatabaseSync } from "node:sqlite";
import { REMEMBERED_UNITS } from "@sallyport/engine/ports";
import { encodeReceipt } from "./call-rows.ts";
import { ChainHeads } from "./chain-heads.ts";
import { failureOf } from "./failures.ts";
import type { GrantUse, Job, Outcome, PermitJob, ReturnedUse, UnitJob } from "./messages.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import {
  beginConflict,
  closeConflict,
  executingConflict,
  type Found,
  fenceConflict,
  findCalls,
  openConflict,
  writeCalls,
} from "./write-calls.ts";
import {
  callbackConflict,
  recordConflict,
  stateConflicts,
  toolConflict,
  writeCallbacks,
  writeRecords,
  writeState,
  writeTools,
} from "./write-documents.ts";
import { FleetWriter } from "./write-fleet.ts";
import { OutboxWriter } from "./write-outbox.ts";
import { permitConflict, writePermits } from "./write-permits.ts";

interface Counted {
  uses: number;
  lastUsedAt: number;
}

/**
 * The uses of grants that a transaction counts: most units of a batch use the same few grants, so each is written once
 * for all of them. Whoever writes a grant writes these first, so that a use counts only what was there before it.
 */
class GrantCounts {
  readonly #counted = new Map<string, Counted>();
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** The first use that its grant's limit does not allow any more; earlier units of the transaction count. */
  conflict(uses: readonly GrantUse[]): Outcome | undefined {
    const limited = uses.filter(([, , , limit]) => limit !== null);
    if (limited.length > 0) this.write();
    for (const [grantId, at, , limit] of limited) {
      const found = this.#sql.usesOf.get(grantId);
      if (!found || Number(found.uses) >= (limit?.maxUses ?? Infinity)) return ["grant_spent", grantId, null];
      const free = (limit?.rates ?? []).map(({ max, windowMs }) => {
        const nth = this.#sql.nthNewestUse.get(grantId, max)?.used_at;
        return nth === undefined ? -Infinity : Number(nth) + windowMs;
      });
      const freeAt = Math.max(-Infinity, ...free);
      if (freeAt > at) return ["grant_spent", grantId, freeAt];
    }
    return undefined;
  }

  /** Takes back uses of a call that never started. */
  giveBack(returned: readonly ReturnedUse[]): void {
    this.write();
    for (const [grantId, callId] of returned) {
      this.#sql.returnUse.run(grantId);
      this.#sql.deleteUse.run(grantId, callId);
    }
  }

  add(uses: readonly GrantUse[]): void {
    for (const [grantId, at, callId, limit] of uses) {
      if (limit?.rates) this.#remember({ grantId, callId, at }, limit.rates);
      const counted = this.#counted.get(grantId);
      if (!counted) this.#counted.set(grantId, { uses: 1, lastUsedAt: at });
      else {
        counted.uses += 1;
        counted.lastUsedAt = Math.max(counted.lastUsedAt, at);
      }
    }
  }

  #remember(
    { grantId, callId, at }: { grantId: string; callId: string | null; at: number },
    rates: readonly { windowMs: number }[],
  ): void {
    this.#sql.forgetUses.run(grantId, at - Math.max(...rates.map(({ windowMs }) => windowMs)));
    this.#sql.insertUse.run(grantId, callId, at);
  }

  /** Grants that are not there are passed over. */
  write(): void {
    for (const [grantId, { uses, lastUsedAt }] of this.#counted) {
      this.#sql.countUses.run(grantId, uses, lastUsedAt);
    }
    this.#counted.clear();
  }

  rolledBack(): void {
    this.#counted.clear();
  }
}

/**
 * The outcomes of the units applied last, by their ids: one that is sent again gets the same. They are not kept on disk:
 * only this thread's own callers send a unit again, and none of them outlives it.
 */
class AppliedUnits {
  readonly #committed = new Map<string, Outcome>();
  readonly #added = new Map<string, Outcome>();
  /** Stands before the oldest unit. A new iterator would pass every unit that was dropped before, each time. */
  readonly #oldest = this.#committed.keys();

  get(id: string): Outcome | undefined {
    return this.#added.get(id) ?? this.#committed.get(id);
  }

  add(id: string, outcome: Outcome): void {
    this.#added.set(id, outcome);
  }

  committed(): void {
    for (const [id, outcome] of this.#added) this.#committed.set(id, outcome);
    this.#added.clear();
    while (this.#committed.size > REMEMBERED_UNITS) this.#committed.delete(this.#oldest.next().value ?? "");
  }

  rolledBack(): void {
    this.#added.clear();
  }
}

const WITHOUT_LINK: Outcome = ["applied", 0, "", 0];

/**
 * Applies jobs to the database. A batch is one transaction: begun, every job checked and written, heads written,
 * committed. A job that conflicts writes nothing and disturbs no other. An unexpected error rolls the whole batch
 * back, and each job then runs again in a transaction of its own, so that only the guilty one fails. What is cached
 * (heads, positions, ids of units) moves on only after a commit.
 */
export class BatchWriter {
  readonly #database: DatabaseSync;
  readonly #sql: Statements;
  readonly #heads: ChainHeads;
  readonly #outbox: OutboxWriter;
  readonly #counts: GrantCounts;
  readonly #applied = new AppliedUnits();
  readonly #fleet: FleetWriter;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#sql = prepareStatements(database);
    this.#heads = new ChainHeads(this.#sql);
    this.#outbox = new OutboxWriter(this.#sql);
    this.#counts = new GrantCounts(this.#sql);
    this.#fleet = new FleetWriter(database);
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
      this.#applied.committed();
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
    this.#applied.rolledBack();
    if (this.#database.isTransaction) this.#sql.rollback.run();
  }

  #applyOne(job: Job): Outcome {
    if (job[0] === "unit") return this.#applyUnit(job);
    if (job[0] !== "probe" && job[0] !== "delivered") return this.#fleet.apply(job) ?? WITHOUT_LINK;
    if (job[0] === "probe") this.#sql.probe.run();
    else this.#outbox.delivered(job[1], job[2]);
    return WITHOUT_LINK;
  }

  #applyUnit(job: UnitJob): Outcome {
    const id = job[15];
    const known = id === null ? undefined : this.#applied.get(id);
    if (known) return known;
    const found = findCalls(this.#sql, job);
    const outcome = this.#conflict(job, found) ?? this.#write(job, found);
    if (id !== null && outcome[0] === "applied") this.#applied.add(id, outcome);
    return outcome;
  }

  /**
   * Whatever must not be written, found before anything is. A call that must not be opened shows when it is inserted;
   * it is looked for here only beside parts whose conflicts come after it.
   */
  #conflict(job: UnitJob, { begun, closed }: Found): Outcome | undefined {
    const [
      ,
      ,
      open,
      close,
      state,
      tools,
      ,
      ,
      begin,
      permits,
      uses,
      ,
      callbacks,
      closeFrom,
      ,
      ,
      records,
      run,
    ] = job;
    const limited = uses?.some(([, , , limit]) => limit !== null) || null;
    const refused =
      (run?.fence && fenceConflict(this.#sql, run.fence)) ??
      (open &&
        (begin ?? close ?? permits ?? limited ?? callbacks ?? tools ?? records ?? state ?? run) &&
        openConflict(this.#sql, open)) ??
      (begin && beginConflict(this.#sql, begin, begun)) ??
      (run?.rerun && executingConflict(this.#sql, run.rerun[0])) ??
      (close && closeConflict(close, { found: closed, from: closeFrom })) ??
      (run?.cancel && executingConflict(this.#sql, run.cancel[0])) ??
      (permits && permitConflict(this.#sql, permits)) ??
      (uses && this.#counts.conflict(uses)) ??
      (callbacks && callbackConflict(this.#sql, callbacks)) ??
      (tools && toolConflict(this.#sql, tools)) ??
      (records && recordConflict(this.#sql, records));
    if (refused) return refused;
    const keys = state ? stateConflicts(this.#sql, state) : [];
    return keys.length === 0 ? undefined : ["state", keys];
  }

  /** The calls come first: when one cannot be opened nothing has been written. */
  #write(job: UnitJob, found: Found): Outcome {
    const [, tenant, , , state, tools, audit, outbox, , permits, uses, , callbacks, , returned, , records] =
      job;
    const strand = job[18];
    const entry = audit === null ? undefined : this.#heads.link(tenant, strand, audit);
    const receipt = entry ? encodeReceipt(entry) : null;
    const refused = writeCalls(this.#sql, job, { found, receipt });
    if (refused) return refused;
    if (state) writeState(this.#sql, state);
    if (permits) this.#writePermits(permits);
    if (uses) this.#counts.add(uses);
    if (returned) this.#counts.giveBack(returned);
    if (callbacks) writeCallbacks(this.#sql, callbacks);
    if (records) writeRecords(this.#sql, records);
    if (tools) writeTools(this.#sql, tools);
    if (entry) this.#heads.add(tenant, entry);
    if (outbox) this.#outbox.append(outbox);
    return entry ? ["applied", entry.sequence, entry.hash, entry.strand] : WITHOUT_LINK;
  }

  #writePermits(permits: PermitJob): void {
    if (permits.grants.length > 0) this.#counts.write();
    writePermits(this.#sql, permits);
  }
}
