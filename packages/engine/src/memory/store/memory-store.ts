import type { Store } from "../../ports/store.ts";
import { applyUnit, type Parts } from "./apply-unit.ts";
import { Gate } from "./gate.ts";
import { MemoryApprovals } from "./memory-approvals.ts";
import { MemoryAudit } from "./memory-audit.ts";
import { MemoryCallbacks } from "./memory-callbacks.ts";
import { MemoryGrants } from "./memory-grants.ts";
import { MemoryJournal } from "./memory-journal.ts";
import { MemoryOutbox } from "./memory-outbox.ts";
import { MemoryQueue } from "./memory-queue.ts";
import { MemoryRevocations } from "./memory-revocations.ts";
import { MemoryState } from "./memory-state.ts";
import { MemoryTools } from "./memory-tools.ts";

export interface MemoryStoreOptions {
  /** Beyond about this many closed calls the oldest are forgotten, with keys, approvals, callbacks. Default: none are. */
  maxClosedCalls?: number;
  /** Beyond about this many audit entries a tenant's oldest are forgotten. Default: none are. */
  maxAuditEntries?: number;
}

/**
 * A store that lives and dies with the process: for embedding without a disk, for tests, and as the reference every
 * other store is compared with. Nothing survives `close`.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const gate = new Gate();
  const parts = emptyParts(options);
  const guarded = async <Result>(run: () => Result): Promise<Result> => {
    gate.enter();
    return run();
  };
  return {
    commit: (unit) => guarded(() => applyUnit(parts, unit)),
    ...readers(parts, guarded),
    close: async () => gate.shut(),
  };
}

function emptyParts(options: MemoryStoreOptions): Parts {
  const approvals = new MemoryApprovals();
  const callbacks = new MemoryCallbacks();
  const journal = new MemoryJournal({
    maxClosed: options.maxClosedCalls ?? Number.POSITIVE_INFINITY,
    forgotten(callId) {
      approvals.forgetCall(callId);
      callbacks.forgetCall(callId);
    },
  });
  return {
    journal,
    state: new MemoryState(),
    audit: new MemoryAudit(options.maxAuditEntries ?? Number.POSITIVE_INFINITY),
    outbox: new MemoryOutbox(),
    tools: new MemoryTools(),
    approvals,
    grants: new MemoryGrants(),
    revocations: new MemoryRevocations(),
    queue: new MemoryQueue((callId) => journal.positionOf(callId)),
    callbacks,
  };
}

type Guarded = <Result>(run: () => Result) => Promise<Result>;

function readers(
  { journal, state, audit, outbox, tools, approvals, grants, revocations, queue, callbacks }: Parts,
  guarded: Guarded,
): Omit<Store, "commit" | "close"> {
  return {
    calls: {
      get: (callId) => guarded(() => journal.get(callId)),
      byIdempotencyKey: ({ tenant, agent, key }) => guarded(() => journal.byKey(tenant, agent, key)),
      list: (filter) => guarded(() => journal.list(filter)),
    },
    state: {
      open: (scope) => guarded(() => state.open(scope)),
      get: (snapshot, key) => guarded(() => state.get(snapshot, key)),
      keys: (snapshot, query) => guarded(() => state.keys(snapshot, query)),
      writtenBy: (scope, callId) => guarded(() => state.writtenBy(scope, callId)),
      release: (snapshot) => state.release(snapshot),
    },
    audit: {
      tenants: () => guarded(() => audit.tenants()),
      head: (tenant) => guarded(() => audit.head(tenant)),
      read: (tenant, page) => guarded(() => audit.read(tenant, page)),
    },
    outbox: {
      pending: (limit) => guarded(() => outbox.pending(limit)),
      delivered: (position) => guarded(() => outbox.delivered(position)),
    },
    tools: { all: () => guarded(() => tools.all()) },
    approvals: {
      get: (approvalId) => guarded(() => approvals.get(approvalId)),
      ofCall: (callId) => guarded(() => approvals.ofCall(callId)),
      list: (filter) => guarded(() => approvals.list(filter)),
      order: (approvalId) => guarded(() => approvals.order(approvalId)),
    },
    grants: {
      get: (grantId) => guarded(() => grants.get(grantId)),
      all: () => guarded(() => grants.all()),
    },
    revocations: { all: () => guarded(() => revocations.all()) },
    queue: {
      list: (page) => guarded(() => queue.list(page)),
      order: (callId) => guarded(() => queue.order(callId)),
    },
    callbacks: {
      due: (by, limit) => guarded(() => callbacks.due(by, limit)),
      ofCall: (callId) => guarded(() => callbacks.ofCall(callId)),
    },
  };
}
