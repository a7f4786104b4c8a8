import { failure, SallyportError } from "@sallyport/protocol";
import { genesis, linkAfter } from "../audit/index.ts";
import { LruMap } from "../lru-map.ts";
import { mapMethods } from "../map-methods.ts";
import type { Callback, CallbackReader } from "../ports/calls.ts";
import type { Revocation, RevocationReader } from "../ports/grants.ts";
import type { Clock } from "../ports/platform.ts";
import {
  type AuditEntry,
  type AuditLink,
  type AuditReader,
  type CommitResult,
  type Conflict,
  REMEMBERED_UNITS,
  requireValidUnit,
  type Store,
  type UnitOfWork,
} from "../ports/store.ts";
import type { ToolReader, ToolRecord } from "../ports/tools.ts";
import { type Claimer, MemoryCalls } from "./calls.ts";
import { ChangeLog } from "./change-log.ts";
import { MemoryInstances, memoryWork } from "./fleet.ts";
import { MemoryOutbox } from "./outbox.ts";
import { firstStale, MemoryApprovals, MemoryGrants } from "./permits.ts";
import { systemClock } from "./platform.ts";
import { MemoryRecords } from "./records.ts";
import { MemoryState } from "./state.ts";

/** How long a store in memory keeps what state snapshots see: less than one on disk. */
const RETENTION_MS = 3_600_000;

export interface MemoryStoreOptions {
  /** Beyond about this many closed calls the oldest are forgotten, with keys, approvals, callbacks. Default: none are. */
  maxClosedCalls?: number;
  /** Beyond about this many audit entries a strand's oldest are forgotten. Default: none are. */
  maxAuditEntries?: number;
  /** As if other processes used the store too, so that whoever uses it keeps its lease by renewing it. Default: false. */
  isShared?: boolean;
  /** What leases and claims are measured by. Default: the system's. */
  clock?: Pick<Clock, "now">;
  /** How long what a state snapshot sees is kept. Default: an hour. */
  stateRetentionMs?: number;
}

/**
 * A store that lives and dies with the process: for embedding without a disk, for tests, and as the reference every
 * other store is compared with. Nothing survives `close`.
 *
 * A unit is applied in two steps that nothing comes between: every part checks what it would write, which may refuse the
 * unit or throw; then all of them write.
 */
export function createMemoryStore({
  maxClosedCalls = Infinity,
  maxAuditEntries = Infinity,
  isShared = false,
  clock = systemClock,
  stateRetentionMs = RETENTION_MS,
}: MemoryStoreOptions = {}): Store {
  const approvals = new MemoryApprovals();
  const callbacks = new MemoryCallbacks(() => clock.now());
  const calls = new MemoryCalls(maxClosedCalls, (callId) => {
    approvals.forgetCall(callId);
    callbacks.forgetCall(callId);
  });
  const grants = new MemoryGrants();
  const records = new MemoryRecords(() => clock.now());
  const state = new MemoryState(stateRetentionMs, () => clock.now());
  const tools = new MemoryTools();
  const revocations = new MemoryRevocations();
  const outbox = new MemoryOutbox(() => clock.now());
  const audit = new MemoryAudit(maxAuditEntries);
  // Conflicts are found in this order. The calls are written first: only their answers can still turn out not to be JSON.
  const parts = [calls, approvals, grants, callbacks, tools, records, state, revocations, outbox];
  const instances = new MemoryInstances(() => clock.now());
  const units = new LruMap<string, CommitResult>(REMEMBERED_UNITS);
  let isClosed = false;
  const store: Store = {
    isShared,
    commit: async (unit) => {
      const known = unit.id === undefined ? undefined : units.get(unit.id);
      const result = known ?? applyUnit(unit, parts, audit);
      if (unit.id !== undefined && result.ok) units.set(unit.id, result);
      return result;
    },
    close: async () => {
      isClosed = true;
    },
    calls: calls.reader,
    queue: calls.queue,
    state: state.reader,
    audit: audit.reader,
    outbox: outbox.reader,
    tools: tools.reader,
    approvals: approvals.reader,
    grants: grants.reader,
    revocations: revocations.reader,
    callbacks: callbacks.reader,
    records: records.reader,
    instances: instances.port,
    work: memoryWork({ calls, approvals, callbacks, instances }),
  };
  return mapMethods(store, (method, path) =>
    path === "close" ? method : (...args) => (isClosed ? Promise.reject(closed()) : method(...args)),
  );
}

function closed(): SallyportError {
  return new SallyportError(failure("E3914", { message: "The store has been closed." }));
}

/** One part of the store: what a unit must not do to it, and how the unit is written. */
interface Part {
  conflict?(unit: UnitOfWork): Conflict | undefined;
  write(unit: UnitOfWork, link: AuditLink | undefined): void;
}

function applyUnit(unit: UnitOfWork, parts: readonly Part[], audit: MemoryAudit): CommitResult {
  requireValidUnit(unit);
  const copy = copyOf(unit);
  for (const part of parts) {
    const conflict = part.conflict?.(copy);
    if (conflict) return { ok: false, conflict };
  }
  const entry = audit.link(copy);
  const link = entry && { strand: entry.strand, sequence: entry.sequence, hash: entry.hash };
  for (const part of parts) part.write(copy, link);
  if (entry && link) audit.append(unit.tenant, entry, link);
  return { ok: true, ...(link && { link }) };
}

/** The unit with copies of the parts that are kept as objects. Throws when one of them is not JSON. */
function copyOf(unit: UnitOfWork): UnitOfWork {
  const { state, tools, approvals, grants, revocations, callbacks } = unit;
  if (!(state ?? tools ?? approvals ?? grants ?? revocations ?? callbacks)) return unit;
  const kept = JSON.stringify({ state, tools, approvals, grants, revocations, callbacks });
  return { ...unit, ...JSON.parse(kept) };
}

/** Who is to be told of which end, by call. One that was delivered or given up is kept as it is and never due again. */
class MemoryCallbacks implements Part {
  readonly #callbacks = new Map<string, Callback>();

  readonly #now: () => number;

  readonly reader: CallbackReader = {
    ofCall: async (callId) => structuredClone(this.#callbacks.get(callId)),
  };

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Each write is taken to follow those before it. */
  conflict({ callbacks = [] }: UnitOfWork): Conflict | undefined {
    const written = new Map<string, Callback>();
    for (const { callback, expect } of callbacks) {
      const { callId } = callback;
      const known = written.get(callId) ?? this.#callbacks.get(callId);
      if (known?.attempts !== expect || (known && known.state !== "due")) return { kind: "callback", callId };
      written.set(callId, callback);
    }
    return undefined;
  }

  write({ callbacks = [] }: UnitOfWork): void {
    for (const { callback, expect } of callbacks) {
      const dueAt = expect === undefined ? Math.min(callback.dueAt, this.#now()) : callback.dueAt;
      this.#callbacks.set(callback.callId, { ...callback, dueAt });
    }
  }

  /**
   * Due callbacks, each with one attempt more and held for a while; of those due at the same time, the one that was
   * written first.
   */
  claim({ limit, now, holdMs, except }: Claimer): Callback[] {
    const overdue = [...this.#callbacks.values()]
      .filter(({ state, dueAt }) => state === "due" && dueAt <= now)
      .filter(({ url }) => !except.some((start) => url.startsWith(start)))
      .sort((one, other) => one.dueAt - other.dueAt);
    return overdue.slice(0, limit).map((callback) => {
      const claimed = { ...callback, attempts: callback.attempts + 1, dueAt: now + holdMs };
      this.#callbacks.set(callback.callId, claimed);
      return { ...claimed };
    });
  }

  forgetCall(callId: string): void {
    this.#callbacks.delete(callId);
  }
}

/** Tool versions in the order they were registered. The manifest of a version stays as it first came. */
class MemoryTools implements Part {
  readonly #versions = new Map<string, { record: ToolRecord }>();
  readonly #changes = new ChangeLog();
  readonly reader: ToolReader = {
    changedSince: async (cursor) => this.#changes.since(cursor, this.#versions, ({ record }) => record),
  };

  conflict({ tools = [] }: UnitOfWork): Conflict | undefined {
    const name = firstStale(tools, nameOf, this.#versions);
    if (name === undefined) return undefined;
    const [tool, version]: [string, string] = JSON.parse(name);
    return { kind: "tool", tool, version };
  }

  write({ tools = [] }: UnitOfWork): void {
    for (const { record } of tools) {
      const name = nameOf(record);
      const { manifest, manifestHash, registeredAt } = this.#versions.get(name)?.record ?? record;
      this.#versions.set(name, { record: { ...record, manifest, manifestHash, registeredAt } });
      this.#changes.note(name);
    }
  }
}

function nameOf({ manifest }: ToolRecord): string {
  return JSON.stringify([manifest.id, manifest.version]);
}

/** Revoked tokens by name. The first revocation of a token stays as it was. */
class MemoryRevocations implements Part {
  readonly #revoked = new Map<string, Revocation>();
  readonly #changes = new ChangeLog();
  readonly reader: RevocationReader = {
    changedSince: async (cursor) => this.#changes.since(cursor, this.#revoked, (revocation) => revocation),
  };

  write({ revocations = [] }: UnitOfWork): void {
    for (const revocation of revocations) {
      if (this.#revoked.has(revocation.jti)) continue;
      this.#revoked.set(revocation.jti, revocation);
      this.#changes.note(revocation.jti);
    }
  }
}

interface Strand {
  head: AuditLink;
  entries: AuditEntry[];
}

/** The strands of each tenant. With a bound, the oldest entries go and a strand then starts later than 1. */
class MemoryAudit {
  readonly #tenants = new Map<string, Map<number, Strand>>();
  readonly #maxEntries: number;

  readonly reader: AuditReader = {
    tenants: async () => [...this.#tenants.keys()].sort(),
    heads: async (tenant) =>
      [...(this.#tenants.get(tenant)?.values() ?? [])]
        .map(({ head }) => ({ ...head }))
        .sort((one, other) => one.strand - other.strand),
    strands: async (tenant) =>
      [...(this.#tenants.get(tenant)?.keys() ?? [])].sort((one, other) => one - other),
    read: async (tenant, { strand, after, limit }) => {
      const entries = this.#tenants.get(tenant)?.get(strand)?.entries ?? [];
      const from = Math.max(0, after - (entries[0]?.sequence ?? 1) + 1);
      return entries.slice(from, from + limit).map((entry) => ({ ...entry }));
    },
  };

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** The unit's body, linked to its strand; nothing is kept yet. */
  link({ tenant, strand = 0, audit }: UnitOfWork): AuditEntry | undefined {
    if (audit === undefined) return undefined;
    return linkAfter(this.#tenants.get(tenant)?.get(strand)?.head ?? genesis(strand), audit);
  }

  append(tenant: string, entry: AuditEntry, head: AuditLink): void {
    const strands = this.#tenants.get(tenant) ?? new Map<number, Strand>();
    this.#tenants.set(tenant, strands);
    const strand = strands.get(entry.strand) ?? { head, entries: [] };
    strand.head = head;
    strand.entries.push(entry);
    if (strand.entries.length > this.#maxEntries * 1.1)
      strand.entries = strand.entries.slice(-this.#maxEntries);
    strands.set(entry.strand, strand);
  }
}
