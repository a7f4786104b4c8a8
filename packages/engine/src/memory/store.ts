import { failure, SallyportError } from "@sallyport/protocol";
import { GENESIS, linkAll } from "../audit/index.ts";
import { LruMap } from "../lru-map.ts";
import { mapMethods } from "../map-methods.ts";
import type { Callback, CallbackReader } from "../ports/calls.ts";
import {
  type AuditEntry,
  type AuditLink,
  type AuditReader,
  type CommitResult,
  type Conflict,
  type OutboxReader,
  type PendingMessage,
  REMEMBERED_UNITS,
  type Store,
  type UnitOfWork,
} from "../ports/store.ts";
import type { ToolReader, ToolRecord } from "../ports/tools.ts";
import { MemoryCalls } from "./calls.ts";
import { MemoryApprovals, MemoryGrants, MemoryRevocations } from "./permits.ts";
import { MemoryState } from "./state.ts";

export interface MemoryStoreOptions {
  /** Beyond about this many closed calls the oldest are forgotten, with keys, approvals, callbacks. Default: none are. */
  maxClosedCalls?: number;
  /** Beyond about this many audit entries a tenant's oldest are forgotten. Default: none are. */
  maxAuditEntries?: number;
}

/**
 * A store that lives and dies with the process: for embedding without a disk, for tests, and as the reference every
 * other store is compared with. Nothing survives `close`.
 *
 * A unit is applied in two steps that nothing comes between: every part checks what it would write, which may refuse the
 * unit or throw; then all of them write.
 */
export function createMemoryStore({ maxClosedCalls, maxAuditEntries }: MemoryStoreOptions = {}): Store {
  const approvals = new MemoryApprovals();
  const callbacks = new MemoryCallbacks();
  const calls = new MemoryCalls({
    maxClosed: maxClosedCalls ?? Number.POSITIVE_INFINITY,
    onForget(callId) {
      approvals.forgetCall(callId);
      callbacks.forgetCall(callId);
    },
  });
  const state = new MemoryState();
  const audit = new MemoryAudit(maxAuditEntries ?? Number.POSITIVE_INFINITY);
  const outbox = new MemoryOutbox();
  const tools = new MemoryTools();
  const grants = new MemoryGrants();
  const revocations = new MemoryRevocations();
  // Conflicts are found in this order. The calls are written first: only their answers can still turn out not to be JSON.
  const parts = [calls, approvals, grants, callbacks, state, tools, revocations, outbox];
  const applied = new LruMap<string, CommitResult>(REMEMBERED_UNITS);
  const commit = async (unit: UnitOfWork) => {
    const known = unit.id === undefined ? undefined : applied.get(unit.id);
    const result = known ?? applyUnit(unit, { parts, audit });
    if (unit.id !== undefined && result.ok) applied.set(unit.id, result);
    return result;
  };
  const { queue } = calls;
  const readers = { calls, state, audit, outbox, tools, approvals, grants, revocations, queue, callbacks };
  let isClosed = false;
  const close = async () => {
    isClosed = true;
  };
  return mapMethods<Store>({ ...readers, commit, close }, (method, path) =>
    path === "close" || path === "state.release"
      ? method
      : (...args) => (isClosed ? Promise.reject(closed()) : method(...args)),
  );
}

/** One part of the store: what a unit must not do to it, and how the unit is written. */
interface Part {
  conflict?(unit: UnitOfWork): Conflict | undefined;
  write(unit: UnitOfWork, link: AuditLink | undefined): void;
}

function applyUnit(unit: UnitOfWork, { parts, audit }: { parts: Part[]; audit: MemoryAudit }): CommitResult {
  const copy = copyOf(unit);
  for (const part of parts) {
    const conflict = part.conflict?.(copy);
    if (conflict) return { ok: false, conflict };
  }
  const entries = audit.link(copy);
  const link = linkOf(entries.at(-1));
  for (const part of parts) part.write(copy, link);
  audit.append(unit.tenant, entries);
  return { ok: true, ...(link && { link }) };
}

function linkOf(entry: AuditEntry | undefined): AuditLink | undefined {
  return entry && { sequence: entry.sequence, hash: entry.hash };
}

function closed(): SallyportError {
  return new SallyportError(failure("E3914", { message: "The store has been closed." }));
}

/** The unit with copies of the parts that are kept as objects. Throws when one of them is not JSON. */
function copyOf(unit: UnitOfWork): UnitOfWork {
  const { state, tools, approvals, grants, revocations, callbacks } = unit;
  if (!(state ?? tools ?? approvals ?? grants ?? revocations ?? callbacks)) return unit;
  const kept = JSON.stringify({ state, tools, approvals, grants, revocations, callbacks });
  return { ...unit, ...JSON.parse(kept) };
}

/** Who is to be told of which end, by call. One that was delivered or given up is kept as it is and never due again. */
class MemoryCallbacks implements CallbackReader {
  readonly #callbacks = new Map<string, Callback>();
  /** Calls whose callback is due some time, in the order they were first written. */
  readonly #due = new Set<string>();

  /** Each write is taken to follow those before it. Throws when one counts backwards: a mistake, never a race. */
  conflict({ callbacks = [] }: UnitOfWork): Conflict | undefined {
    const written = new Map<string, Callback>();
    for (const { callback, expect } of callbacks) {
      const { callId, attempts } = callback;
      if (attempts < (expect ?? 0)) {
        throw new RangeError(`The callback of ${callId} counts ${attempts} attempts after ${expect}.`);
      }
      const known = written.get(callId) ?? this.#callbacks.get(callId);
      if (known?.attempts !== expect || (known && known.state !== "due")) return { kind: "callback", callId };
      written.set(callId, callback);
    }
    return undefined;
  }

  write({ callbacks = [] }: UnitOfWork): void {
    for (const { callback } of callbacks) {
      this.#callbacks.set(callback.callId, callback);
      if (callback.state === "due") this.#due.add(callback.callId);
      else this.#due.delete(callback.callId);
    }
  }

  /** Of those due at the same time, the one that was written first comes first. */
  async due(by: number, limit: number): Promise<Callback[]> {
    const overdue = [...this.#due]
      .flatMap((callId) => this.#callbacks.get(callId) ?? [])
      .filter(({ dueAt }) => dueAt <= by)
      .sort((one, other) => one.dueAt - other.dueAt);
    return overdue.slice(0, Math.max(0, limit)).map((callback) => ({ ...callback }));
  }

  async ofCall(callId: string): Promise<Callback | undefined> {
    const callback = this.#callbacks.get(callId);
    return callback && { ...callback };
  }

  forgetCall(callId: string): void {
    this.#callbacks.delete(callId);
    this.#due.delete(callId);
  }
}

/** Tool versions in the order they were registered. The manifest of a version stays as it first came. */
class MemoryTools implements ToolReader {
  readonly #versions = new Map<string, ToolRecord>();

  write({ tools = [] }: UnitOfWork): void {
    for (const { record } of tools) {
      const name = JSON.stringify([record.manifest.id, record.manifest.version]);
      const { manifest, manifestHash, registeredAt } = this.#versions.get(name) ?? record;
      this.#versions.set(name, { ...record, manifest, manifestHash, registeredAt });
    }
  }

  async all(): Promise<ToolRecord[]> {
    return [...this.#versions.values()].map((record) => structuredClone(record));
  }
}

/** One chain per tenant. With a bound, the oldest entries go and the chain then starts later than 1. */
class MemoryAudit implements AuditReader {
  readonly #chains = new Map<string, { head: AuditLink; entries: AuditEntry[] }>();
  readonly #maxEntries: number;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  /** The unit's events, linked to the chain; nothing is kept yet. */
  link({ tenant, events }: UnitOfWork): AuditEntry[] {
    return linkAll(this.#chains.get(tenant)?.head ?? GENESIS, events);
  }

  append(tenant: string, added: readonly AuditEntry[]): void {
    const head = linkOf(added.at(-1));
    if (!head) return;
    const chain = this.#chains.get(tenant) ?? { head, entries: [] };
    chain.head = head;
    chain.entries.push(...added);
    if (chain.entries.length > this.#maxEntries * 1.1) chain.entries = chain.entries.slice(-this.#maxEntries);
    this.#chains.set(tenant, chain);
  }

  async tenants(): Promise<string[]> {
    return [...this.#chains.keys()].sort();
  }

  async head(tenant: string): Promise<AuditLink | undefined> {
    const chain = this.#chains.get(tenant);
    return chain && { ...chain.head };
  }

  async read(tenant: string, { after, limit }: { after: number; limit: number }): Promise<AuditEntry[]> {
    const entries = this.#chains.get(tenant)?.entries ?? [];
    const from = Math.max(0, after - (entries[0]?.sequence ?? 1) + 1);
    return entries.slice(from, from + limit).map((entry) => ({ ...entry }));
  }
}

/** Messages in the order they came; a position is never given twice. */
class MemoryOutbox implements OutboxReader {
  #last = 0;
  #waiting: PendingMessage[] = [];

  write({ outbox }: UnitOfWork): void {
    for (const { callId, type } of outbox) {
      this.#last += 1;
      this.#waiting.push({ callId, type, position: this.#last });
    }
  }

  async pending(limit: number): Promise<PendingMessage[]> {
    return this.#waiting.slice(0, limit).map((message) => ({ ...message }));
  }

  async delivered(position: number): Promise<void> {
    this.#waiting = this.#waiting.filter((message) => message.position > position);
  }
}
