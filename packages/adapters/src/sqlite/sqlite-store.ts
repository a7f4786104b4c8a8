import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  type AuditEntry,
  type AuditLink,
  type Changes,
  CLAIM_MS,
  type ClaimOrder,
  type CommitResult,
  type Revocation,
  STATE_RETENTION_MS,
  type Store,
  type UnitOfWork,
  type Work,
  type WorkKind,
} from "@sallyport/engine/ports";
import { SallyportError } from "@sallyport/protocol";
import type { OutlineReader } from "./call-outlines.ts";
import { changesOf } from "./changes.ts";
import { encodeUnit, jobBytes } from "./encode-unit.ts";
import { failureOf, lost } from "./failures.ts";
import type { FleetJob, Outcome } from "./messages.ts";
import type { SqliteStoreOptions } from "./options.ts";
import { ApprovalReads } from "./read-approvals.ts";
import { CallbackReads } from "./read-callbacks.ts";
import { CallReads } from "./read-calls.ts";
import { GrantReads } from "./read-grants.ts";
import { InstanceReads } from "./read-instances.ts";
import { OutboxReads } from "./read-outbox.ts";
import { QueueReads } from "./read-queue.ts";
import { RecordReads } from "./read-records.ts";
import { StateReads } from "./read-state.ts";
import { ToolReads } from "./read-tools.ts";
import type { Writer } from "./writer.ts";

/** Reads the revoked tokens, in the order they were revoked. They never change, so their position counts their changes. */
class RevocationReads {
  readonly #changed: StatementSync;

  constructor(database: DatabaseSync) {
    this.#changed = database.prepare(
      "SELECT record, position AS change FROM token_revocations WHERE position > ? ORDER BY position",
    );
  }

  changedSince(cursor: string | undefined): Changes<Revocation> {
    return changesOf(this.#changed, cursor, ({ record }): Revocation => JSON.parse(String(record)));
  }
}

const LIST_TENANTS = "SELECT tenant_id FROM audit_heads UNION SELECT tenant_id FROM audit ORDER BY tenant_id";

const LIST_HEADS = "SELECT strand, sequence, hash FROM audit_heads WHERE tenant_id = ? ORDER BY strand";

const LIST_RUNS = `SELECT last_sequence, lines FROM audit
  WHERE tenant_id = ? AND strand = ? AND last_sequence > ? ORDER BY last_sequence LIMIT ?`;

const HASH_LENGTH = 64;

/** Reads the audit chains. A row holds the units that one commit added to a strand; here they become single entries again. */
class AuditReads {
  readonly #tenants: StatementSync;
  readonly #heads: StatementSync;
  readonly #runs: StatementSync;

  constructor(database: DatabaseSync) {
    this.#tenants = database.prepare(LIST_TENANTS);
    this.#heads = database.prepare(LIST_HEADS);
    this.#runs = database.prepare(LIST_RUNS);
  }

  tenants(): string[] {
    return this.#tenants.all().map((row) => String(row.tenant_id));
  }

  heads(tenant: string): AuditLink[] {
    return this.#heads.all(tenant).map(({ strand, sequence, hash }) => ({
      strand: Number(strand),
      sequence: Number(sequence),
      hash: String(hash),
    }));
  }

  read(
    tenant: string,
    { strand, after, limit }: { strand: number; after: number; limit: number },
  ): AuditEntry[] {
    const entries: AuditEntry[] = [];
    let readUpTo = after;
    for (const row of this.#runs.iterate(tenant, strand, after, Math.max(0, limit))) {
      const last = Number(row.last_sequence);
      // A unit comes from the first row that reaches it, wherever the page starts. Otherwise a forged row that
      // overlaps another could be shown by one page size and be skipped by the one that verification uses.
      const run = expand({ strand, last }, String(row.lines));
      entries.push(...run.filter(({ sequence }) => sequence > readUpTo));
      readUpTo = last;
      if (entries.length >= limit) break;
    }
    return entries.slice(0, limit);
  }
}

/** Numbered from the end: `last_sequence` is what rows are found by. */
function expand({ strand, last }: { strand: number; last: number }, joined: string): AuditEntry[] {
  const lines = joined.split("\n");
  return lines.map((line, index) => ({
    strand,
    sequence: last - lines.length + 1 + index,
    hash: line.slice(0, HASH_LENGTH),
    body: line.slice(HASH_LENGTH + 1),
  }));
}

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
  readonly #journal: CallReads;
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
    this.#journal = new CallReads(database);
    this.calls = this.#callReader();
    this.state = this.#stateReader();
    this.audit = this.#auditReader();
    this.outbox = this.#outboxReader();
    const tools = new ToolReads(database);
    this.tools = { changedSince: (cursor) => this.#read(() => tools.changedSince(cursor)) };
    this.approvals = this.#approvalReader();
    this.grants = this.#grantReader();
    const revocations = new RevocationReads(database);
    this.revocations = { changedSince: (cursor) => this.#read(() => revocations.changedSince(cursor)) };
    this.queue = this.#queueReader();
    this.callbacks = this.#callbackReader();
    this.records = this.#recordReader();
    this.instances = this.#instances();
    this.work = this.#work();
  }

  async commit(unit: UnitOfWork): Promise<CommitResult> {
    const writer = this.#requireWriter();
    const job = encodeUnit(unit, { at: this.#now(), retentionMs: this.#retentionMs });
    return this.#result(await writer.submit(job, jobBytes(job)));
  }

  async probe(): Promise<void> {
    const outcome = await this.#requireWriter().submit(["probe"], 64);
    if (outcome[0] === "failed") throw new SallyportError(outcome[1]);
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
      case "state":
        return { ok: false, conflict: { kind: "state", keys: outcome[1] } };
      case "approval":
        return { ok: false, conflict: { kind: "approval", approvalId: outcome[1] } };
      case "grant":
        return { ok: false, conflict: { kind: "grant", grantId: outcome[1] } };
      case "grant_spent": {
        const [, grantId, freeAt] = outcome;
        return { ok: false, conflict: { kind: "grant_spent", grantId, ...(freeAt !== null && { freeAt }) } };
      }
      case "callback":
        return { ok: false, conflict: { kind: "callback", callId: outcome[1] } };
      case "tool":
        return { ok: false, conflict: { kind: "tool", tool: outcome[1], version: outcome[2] } };
      case "record":
        return { ok: false, conflict: { kind: "record", of: outcome[1], id: outcome[2] } };
      case "failed":
        throw new SallyportError(outcome[1]);
      case "lease":
      case "claimed":
        throw new Error(`a unit cannot be ${outcome[0]}`);
      default:
        return { ok: false, conflict: { kind: outcome[0] } };
    }
  }

  /** The writer found it in a transaction that has committed since, so it is there. */
  #existing(callId: string) {
    const existing = this.#journal.get(callId);
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

  #callReader(): Store["calls"] & OutlineReader {
    return {
      get: (callId) => this.#read(() => this.#journal.get(callId)),
      byIdempotencyKey: (key) => this.#read(() => this.#journal.byKey(key)),
      list: (filter) => this.#read(() => this.#journal.list(filter)),
      outlines: (filter) => this.#read(() => this.#journal.outlines(filter)),
    };
  }

  #stateReader(): Store["state"] {
    const reads = new StateReads(this.#database);
    return {
      open: (scope) => this.#read(() => ({ scope: { ...scope }, version: reads.version(scope) })),
      get: (snapshot, key) => this.#read(() => reads.get(snapshot, key)),
      keys: (snapshot, query) => this.#read(() => reads.keys(snapshot, query)),
      writtenBy: (scope, callId) => this.#read(() => reads.writtenBy(scope, callId)),
    };
  }

  #auditReader(): Store["audit"] {
    const reads = new AuditReads(this.#database);
    return {
      tenants: () => this.#read(() => reads.tenants()),
      heads: (tenant) => this.#read(() => reads.heads(tenant)),
      read: (tenant, page) => this.#read(() => reads.read(tenant, page)),
    };
  }

  #approvalReader(): Store["approvals"] {
    const reads = new ApprovalReads(this.#database);
    return {
      get: (approvalId) => this.#read(() => reads.get(approvalId)),
      ofCall: (callId) => this.#read(() => reads.ofCall(callId)),
      list: (filter) => this.#read(() => reads.list(filter)),
      order: (approvalId) => this.#read(() => reads.order(approvalId)),
    };
  }

  #grantReader(): Store["grants"] {
    const reads = new GrantReads(this.#database);
    return {
      get: (grantId) => this.#read(() => reads.get(grantId)),
      changedSince: (cursor) => this.#read(() => reads.changedSince(cursor)),
    };
  }

  #queueReader(): Store["queue"] {
    const reads = new QueueReads(this.#database);
    return {
      order: (callId) => this.#read(() => reads.order(callId)),
      size: () => this.#read(() => reads.size()),
    };
  }

  #instances(): Store["instances"] {
    const reads = new InstanceReads(this.#database);
    return {
      renew: async ({ instance, ttlMs, about }) => {
        const job = ["renew", instance, ttlMs, about ? JSON.stringify(about) : null] as const;
        const outcome = await this.#submit([...job]);
        if (outcome[0] !== "lease") throw new Error(`a lease cannot be ${outcome[0]}`);
        return { instance, slot: outcome[1], expiresAt: outcome[2] };
      },
      leave: async (instance) => void (await this.#submit(["leave", instance])),
      isLive: (instance) => this.#read(() => reads.list().some((live) => live.instance === instance)),
      list: () => this.#read(() => reads.list()),
    };
  }

  #work(): Store["work"] {
    return {
      claim: async <Kind extends WorkKind>(order: ClaimOrder<Kind>) => {
        const { kind, instance, limit, holdMs = CLAIM_MS, except = [] } = order;
        const outcome = await this.#submit(["claim", kind, instance, limit, holdMs, [...except]]);
        // The writer answers with work of the kind that was asked for.
        return (outcome[0] === "claimed" ? outcome[1] : []) as Work[Kind][];
      },
      release: async ({ kind, instance, ids }) =>
        void (await this.#submit(["release", kind, instance, [...ids]])),
    };
  }

  async #submit(job: FleetJob): Promise<Outcome> {
    const outcome = await this.#requireWriter().submit(job, 64);
    if (outcome[0] === "failed") throw new SallyportError(outcome[1]);
    return outcome;
  }

  #callbackReader(): Store["callbacks"] {
    const reads = new CallbackReads(this.#database);
    return {
      ofCall: (callId) => this.#read(() => reads.ofCall(callId)),
    };
  }

  #recordReader(): Store["records"] {
    const reads = new RecordReads(this.#database, this.#now);
    return {
      get: (kind, id) => this.#read(() => reads.get(kind, id)),
      list: (kind, page) => this.#read(() => reads.list(kind, page)),
    };
  }

  #outboxReader(): Store["outbox"] {
    const reads = new OutboxReads(this.#database, this.#now);
    return {
      // Only who may write may publish: what nobody notes as delivered would be sent for ever.
      pending: async (order) => {
        this.#requireWriter();
        return await this.#read(() => reads.pending(order));
      },
      delivered: async ({ sink, ids }) => {
        const outcome = await this.#requireWriter().submit(["delivered", sink, ids], 64 + 24 * ids.length);
        if (outcome[0] === "failed") throw new SallyportError(outcome[1]);
      },
      backlogs: () => this.#read(() => reads.backlogs()),
    };
  }
}
