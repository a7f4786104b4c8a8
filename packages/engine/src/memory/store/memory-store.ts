import type { CommitResult, Conflict, Store, UnitOfWork } from "../../ports/store.ts";
import { Gate } from "./gate.ts";
import { MemoryAudit } from "./memory-audit.ts";
import { MemoryJournal, prepareCall, prepareClosing } from "./memory-journal.ts";
import { MemoryOutbox } from "./memory-outbox.ts";
import { MemoryState, prepareWrites } from "./memory-state.ts";
import { MemoryTools, prepareTool } from "./memory-tools.ts";

export interface MemoryStoreOptions {
  /** Beyond about this many closed calls the oldest are forgotten, with their idempotency keys. Default: none are. */
  maxClosedCalls?: number;
  /** Beyond about this many audit entries a tenant's oldest are forgotten. Default: none are. */
  maxAuditEntries?: number;
}

/** The parts of a memory store; each is plain synchronous data, so a unit is atomic by not waiting for anything. */
interface Parts {
  journal: MemoryJournal;
  state: MemoryState;
  audit: MemoryAudit;
  outbox: MemoryOutbox;
  tools: MemoryTools;
}

/**
 * A store that lives and dies with the process: for embedding without a disk, for tests, and as the reference every
 * other store is compared with. Nothing survives `close`.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const gate = new Gate();
  const parts: Parts = {
    journal: new MemoryJournal(options.maxClosedCalls ?? Number.POSITIVE_INFINITY),
    state: new MemoryState(),
    audit: new MemoryAudit(options.maxAuditEntries ?? Number.POSITIVE_INFINITY),
    outbox: new MemoryOutbox(),
    tools: new MemoryTools(),
  };
  const guarded = async <Result>(run: () => Result): Promise<Result> => {
    gate.enter();
    return run();
  };
  return {
    commit: (unit) => guarded(() => apply(parts, unit)),
    ...readers(parts, guarded),
    close: async () => gate.shut(),
  };
}

type Guarded = <Result>(run: () => Result) => Promise<Result>;

function readers(
  { journal, state, audit, outbox, tools }: Parts,
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
  };
}

function apply(parts: Parts, unit: UnitOfWork): CommitResult {
  const conflict = firstConflict(parts, unit);
  if (conflict) return { ok: false, conflict };
  const opened = unit.open && prepareCall(unit.open);
  const closing = unit.close && prepareClosing(unit.close);
  const writes = unit.state && prepareWrites(unit.state);
  const tools = (unit.tools ?? []).map(({ record }) => prepareTool(record));
  const links = parts.audit.append(unit.tenant, unit.events);
  if (opened) parts.journal.open(opened, links.at(-1));
  if (closing) parts.journal.close(closing, links.at(-1));
  if (writes) parts.state.write(writes);
  for (const tool of tools) parts.tools.put(tool);
  parts.outbox.append(unit.outbox);
  return { ok: true, links };
}

function firstConflict({ journal, state }: Parts, unit: UnitOfWork): Conflict | undefined {
  const refused =
    (unit.open && journal.checkOpen(unit.open)) ?? (unit.close && journal.checkClose(unit.close));
  if (refused) return refused;
  const keys = unit.state ? state.conflicts(unit.state) : [];
  return keys.length === 0 ? undefined : { kind: "state", keys };
}
