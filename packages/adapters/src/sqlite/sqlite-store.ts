import type { DatabaseSync } from "node:sqlite";
import {
  type AuditLink,
  type CallRecord,
  CLAIM_MS,
  type ClaimOrder,
  type CommitResult,
  STATE_RETENTION_MS,
  type Store,
  type UnitOfWork,
  type Work,
  type WorkKind,
} from "@sallyport/engine/ports";
import { SallyportError } from "@sallyport/protocol";
import type { OutlineReader } from "../store-rows/outlines.ts";
import { conflictOf } from "../store-rows/writes.ts";
import { encodeUnit, jobBytes } from "./encode-unit.ts";
import { failureOf, lost } from "./failures.ts";
import type { Job, Outcome } from "./messages.ts";
import type { SqliteStoreOptions } from "./options.ts";
import { callbackReads, callReads, heldReads, queueReads } from "./read-calls.ts";
import { auditReads, instanceReads, recordReads, stateReads, toolReads } from "./read-documents.ts";
import { OutboxReads } from "./read-outbox.ts";
import { approvalReads, grantReads, revocationReads } from "./read-permits.ts";
import type { Sync } from "./reading.ts";
import type { Writer } from "./writer.ts";

function linkOf([, sequence, hash, strand]: Outcome & { 0: "applied" }): AuditLink {
  return { strand, sequence, hash };
}

/** The clock and how long it keeps state. */
type StoreTimes = Pick<SqliteStoreOptions, "now" | "stateRetentionMs">;

/**
 * The store over a read-only connection of this thread and, unless it is opened read-only, the writer thread.
 * `open` until `close` is called; from then on everything rejects with E3914, and what was under way is finished.
 */
export class SqliteStore implements Store {
  /** The folder's lock keeps other processes from writing. */
  readonly isShared = false;
  readonly #database: DatabaseSync;
  readonly #writer: Writer | undefined;
  readonly #now: () => number;
  readonly #retentionMs: number;
  readonly #findCall: (callId: string) => CallRecord | undefined;
  #closing: Promise<void> | undefined;

  readonly calls: Store["calls"] & OutlineReader;
  readonly state: Store["state"];
  readonly audit: Store["audit"];
  readonly outbox: Store["outbox"];
  readonly tools: Store["tools"];
  readonly approvals: Store["approvals"];
  readonly grants: Store["grants"];
  readonly revocations: Store["revocations"];
  readonly queue: Store["queue"];
  readonly callbacks: Store["callbacks"];
  readonly records: Store["records"];
  readonly instances: Store["instances"];
  readonly work: Store["work"];

  constructor(
    database: DatabaseSync,
    writer: Writer | undefined,
    { now = Date.now, stateRetentionMs = STATE_RETENTION_MS }: StoreTimes = {},
  ) {
    this.#now = now;
    this.#retentionMs = stateRetentionMs;
    this.#database = database;
    this.#writer = writer;
    const calls = callReads(database);
    this.#findCall = calls.get;
    this.calls = this.#whileOpen(calls);
    this.state = this.#whileOpen(stateReads(database));
    this.audit = this.#whileOpen(auditReads(database));
    this.outbox = this.#outboxReader();
    this.tools = this.#whileOpen(toolReads(database));
    this.approvals = this.#whileOpen(approvalReads(database));
    this.grants = this.#whileOpen(grantReads(database));
    this.revocations = this.#whileOpen(revocationReads(database));
    this.queue = this.#whileOpen(queueReads(database));
    this.callbacks = this.#whileOpen(callbackReads(database));
    this.records = this.#whileOpen(recordReads(database, now));
    this.instances = this.#instances();
    this.work = this.#work();
  }

  async commit(unit: UnitOfWork): Promise<CommitResult> {
    this.#requireWriter();
    return this.#result(
      await this.#submit(encodeUnit(unit, { at: this.#now(), retentionMs: this.#retentionMs })),
    );
  }

  async probe(): Promise<void> {
    await this.#submit(["probe"]);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The reading connection goes first: the last to close tidies the write-ahead log away. */
  async #close(): Promise<void> {
    await this.#writer?.drain();
    this.#database.close();
    await this.#writer?.close();
  }

  #result(outcome: Outcome): CommitResult {
    switch (outcome[0]) {
      case "applied":
        return { ok: true, ...(outcome[1] > 0 && { link: linkOf(outcome) }) };
      case "idempotency":
        return { ok: false, conflict: { kind: "idempotency", existing: this.#existing(outcome[1]) } };
      case "failed":
      case "lease":
      case "claimed":
        throw new Error(`a unit cannot be ${outcome[0]}`);
      default:
        return { ok: false, conflict: conflictOf(outcome) };
    }
  }

  /** The writer found it in a transaction that has committed since, so it is there. */
  #existing(callId: string) {
    const existing = this.#findCall(callId);
    if (existing) return existing;
    throw lost(`The call ${callId} that holds the idempotency key cannot be read.`);
  }

  #requireWriter(): Writer {
    this.#requireOpen();
    if (this.#writer) return this.#writer;
    throw lost("The store has been opened read-only.", { advice: "Open it without readOnly to write." });
  }

  #requireOpen(): void {
    if (this.#closing) throw lost("The store has been closed.");
  }

  async #read<Result>(read: () => Result): Promise<Result> {
    this.#requireOpen();
    try {
      return read();
    } catch (cause) {
      if (cause instanceof SallyportError) throw cause;
      throw new SallyportError(failureOf(cause, "The store could not be read"), { cause });
    }
  }

  #whileOpen<Port extends object>(reads: Sync<Port>): Port {
    const methods = Object.entries<(...args: unknown[]) => unknown>(reads).map(([name, read]) => [
      name,
      (...args: unknown[]) => this.#read(() => read(...args)),
    ]);
    return Object.fromEntries(methods);
  }

  #instances(): Store["instances"] {
    const live = instanceReads(this.#database);
    return {
      renew: async ({ instance, ttlMs, about }) => {
        const job = ["renew", instance, ttlMs, about ? JSON.stringify(about) : null] as const;
        const outcome = await this.#submit([...job]);
        if (outcome[0] !== "lease") throw new Error(`a lease cannot be ${outcome[0]}`);
        return { instance, slot: outcome[1], expiresAt: outcome[2] };
      },
      leave: async (instance) => void (await this.#submit(["leave", instance])),
      isLive: (instance) => this.#read(() => live().some((one) => one.instance === instance)),
      list: () => this.#read(live),
    };
  }

  #work(): Store["work"] {
    const held = heldReads(this.#database);
    return {
      claim: async <Kind extends WorkKind>(order: ClaimOrder<Kind>) => {
        const { kind, instance, limit, holdMs = CLAIM_MS, except = [] } = order;
        const outcome = await this.#submit(["claim", kind, instance, limit, holdMs, [...except]]);
        // The writer answers with work of the kind that was asked for.
        return (outcome[0] === "claimed" ? outcome[1] : []) as Work[Kind][];
      },
      held: (order) => this.#read(() => held(order)),
      release: async ({ kind, instance, ids }) =>
        void (await this.#submit(["release", kind, instance, [...ids]])),
    };
  }

  async #submit(job: Job): Promise<Outcome> {
    const outcome = await this.#requireWriter().submit(job, jobBytes(job));
    if (outcome[0] === "failed") throw new SallyportError(outcome[1]);
    return outcome;
  }

  #outboxReader(): Store["outbox"] {
    const reads = new OutboxReads(this.#database, this.#now);
    return {
      // Only who may write may publish: what nobody notes as delivered would be sent for ever.
      pending: async (order) => {
        this.#requireWriter();
        return await this.#read(() => reads.pending(order));
      },
      renew: async (order) => {
        this.#requireWriter();
        return reads.renew(order);
      },
      delivered: async ({ sink, ids }) => void (await this.#submit(["delivered", sink, ids])),
      backlogs: () => this.#read(() => reads.backlogs()),
    };
  }
}
