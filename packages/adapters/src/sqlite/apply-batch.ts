import type { DatabaseSync } from "node:sqlite";
import { encodeReceipt } from "./call-rows.ts";
import { ChainHeads } from "./chain-heads.ts";
import { failureOf } from "./failures.ts";
import { GrantCounts } from "./grant-counts.ts";
import type {
  BegunCall,
  ClosedCall,
  Job,
  OpenedCall,
  Outcome,
  PermitJob,
  ToolRow,
  UnitJob,
} from "./messages.ts";
import { OutboxPositions } from "./outbox-positions.ts";
import { prepareStatements, type Statements } from "./statements.ts";
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
    if (job[0] === "unit") return this.#conflict(job) ?? this.#write(job);
    this.#outbox.delivered(job[1]);
    return ["applied", 0, []];
  }

  /**
   * Whatever must not be written, found before anything is. A call that must not be opened shows when it is inserted;
   * it is looked for here only beside parts whose conflicts come after it.
   */
  #conflict([, , open, close, state, , , , begin, permits]: UnitJob): Outcome | undefined {
    const refused =
      (open && (begin ?? close ?? permits ?? state) && this.#taken(open)) ??
      (begin && this.#checkBegin(begin)) ??
      (close && this.#checkClose(close)) ??
      (permits && permitConflict(this.#sql, permits));
    if (refused) return refused;
    const keys = state ? stateConflicts(this.#sql, state) : [];
    return keys.length === 0 ? undefined : ["state", keys];
  }

  #checkBegin([callId, tenant, agent, key]: BegunCall): Outcome | undefined {
    const waiting = this.#sql.findWaiting.get(callId);
    if (waiting?.tenant_id !== tenant) return ["not_waiting"];
    const holder = this.#sql.findKey.get(
      tenant,
      agent,
      key ?? waiting.idempotency_key ?? null,
    )?.invocation_id;
    return holder === undefined || holder === callId ? undefined : ["idempotency", String(holder)];
  }

  #checkClose([callId, phase]: ClosedCall): Outcome | undefined {
    const found = this.#sql.findCall.get(callId)?.phase;
    const isOpen = found === "executing" || found === "waiting" || found === "unknown";
    const isAllowed = phase === "closed" ? isOpen : found === "executing";
    return isAllowed ? undefined : ["not_open"];
  }

  /** The insert of a call comes first: when its id or its key is taken nothing has been written. */
  #write([, tenant, open, close, state, tools, events, outbox, begin, permits, uses]: UnitJob): Outcome {
    const run = this.#heads.link(tenant, events);
    const receipt = events.length > 0 ? encodeReceipt(run.last) : null;
    if (open && this.#sql.insertCall.run(...open, receipt).changes === 0) return this.#whyNotOpened(open);
    if (begin) this.#sql.beginCall.run(...begin, receipt);
    if (close) this.#sql.closeCall.run(...close, receipt);
    if (state) writeState(this.#sql, state);
    if (permits) this.#writePermits(permits);
    if (uses) this.#counts.add(uses);
    if (tools) for (const tool of tools) this.#putTool(tool);
    if (events.length > 0) this.#heads.add(tenant, run);
    this.#outbox.append(outbox);
    return ["applied", run.firstSequence, run.hashes];
  }

  #whyNotOpened(open: OpenedCall): Outcome {
    const taken = this.#taken(open);
    if (taken) return taken;
    throw new Error("a call was not inserted although neither its id nor its key is taken");
  }

  #taken([callId, tenant, agent, key]: OpenedCall): Outcome | undefined {
    if (this.#sql.findCall.get(callId)) return ["duplicate_call"];
    const existing = key === null ? undefined : this.#sql.findKey.get(tenant, agent, key);
    return existing && ["idempotency", String(existing.invocation_id)];
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
