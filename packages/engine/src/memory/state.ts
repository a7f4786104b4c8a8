import type { JsonValue } from "@sallyport/protocol";
import type { StateEntry, StateReader, StateScope, StateSnapshot } from "../ports/state.ts";
import type { Conflict, UnitOfWork } from "../ports/store.ts";

/** One value a key had; undefined marks a deletion. */
interface Version {
  version: number;
  callId: string;
  value: JsonValue | undefined;
}

class Scope {
  version = 0;
  readonly snapshots = new Set<StateSnapshot>();
  /** Versions of each key, oldest first. */
  readonly history = new Map<string, Version[]>();
  readonly entriesByCall = new Map<string, number>();
  /** Keys whose newest version is a deletion, in the order they were deleted. */
  readonly deleted = new Map<string, number>();
}

/**
 * Multi-version state in memory. Each unit that writes in a scope raises the scope's version once; a snapshot is a
 * version, and reads through it see the newest value not above it. A value no open snapshot can see goes when its
 * key is written again; a deletion goes once every open snapshot is at or past it.
 */
export class MemoryState implements StateReader {
  readonly #scopes = new Map<string, Scope>();

  /** The keys somebody wrote or deleted after the snapshot. */
  conflict({ state }: UnitOfWork): Conflict | undefined {
    if (!state) return undefined;
    const history = this.#scopes.get(nameOf(state.scope))?.history;
    const changed = state.writes.filter(({ key, existed }) => {
      const newest = history?.get(key)?.at(-1);
      return newest ? newest.version > state.snapshotVersion : existed;
    });
    const keys = [...new Set(changed.map(({ key }) => key))];
    return keys.length === 0 ? undefined : { kind: "state", keys };
  }

  write({ state }: UnitOfWork): void {
    if (!state || state.writes.length === 0) return;
    const scope = this.#enter(state.scope);
    scope.version += 1;
    const lastOfEach = new Map(state.writes.map(({ key, value }) => [key, value]));
    for (const [key, value] of lastOfEach) {
      put(scope, key, { version: scope.version, callId: state.callId, value });
    }
    sweepDeleted(scope);
  }

  async open(scope: StateScope): Promise<StateSnapshot> {
    const kept = this.#enter(scope);
    const snapshot = { scope: { ...scope }, version: kept.version };
    kept.snapshots.add(snapshot);
    return snapshot;
  }

  release(snapshot: StateSnapshot): void {
    this.#scopes.get(nameOf(snapshot.scope))?.snapshots.delete(snapshot);
  }

  async get({ scope, version }: StateSnapshot, key: string): Promise<StateEntry | undefined> {
    const history = this.#scopes.get(nameOf(scope))?.history.get(key);
    const seen = history && newestAt(history, version);
    if (seen?.value === undefined) return undefined;
    return { value: structuredClone(seen.value), version: seen.version };
  }

  async keys(
    { scope, version }: StateSnapshot,
    { prefix, limit }: { prefix: string; limit: number },
  ): Promise<string[]> {
    const history = this.#scopes.get(nameOf(scope))?.history ?? [];
    const live = Array.from(history)
      .filter(([key, versions]) => key.startsWith(prefix) && newestAt(versions, version)?.value !== undefined)
      .map(([key]) => key);
    return live.sort(byCodePoint).slice(0, limit);
  }

  async writtenBy(scope: StateScope, callId: string): Promise<number> {
    return this.#scopes.get(nameOf(scope))?.entriesByCall.get(callId) ?? 0;
  }

  #enter(name: StateScope): Scope {
    const scope = this.#scopes.get(nameOf(name)) ?? new Scope();
    this.#scopes.set(nameOf(name), scope);
    return scope;
  }
}

function put(scope: Scope, key: string, added: Version): void {
  const history = [...(scope.history.get(key) ?? []), added];
  const needed = history.filter((version, index) => isNeeded(scope, version, history[index + 1]));
  for (const version of history) if (!needed.includes(version)) count(scope, version.callId, -1);
  count(scope, added.callId, 1);
  scope.history.set(key, needed);
  scope.deleted.delete(key);
  if (added.value === undefined) scope.deleted.set(key, added.version);
}

function isNeeded(scope: Scope, version: Version, next: Version | undefined): boolean {
  if (next === undefined) return true;
  return [...scope.snapshots].some((open) => version.version <= open.version && open.version < next.version);
}

function sweepDeleted(scope: Scope): void {
  const oldest = Math.min(...[...scope.snapshots].map((open) => open.version), scope.version);
  for (const [key, version] of scope.deleted) {
    if (version > oldest) return;
    for (const gone of scope.history.get(key) ?? []) count(scope, gone.callId, -1);
    scope.history.delete(key);
    scope.deleted.delete(key);
  }
}

function count(scope: Scope, callId: string, change: 1 | -1): void {
  const entries = (scope.entriesByCall.get(callId) ?? 0) + change;
  if (entries === 0) scope.entriesByCall.delete(callId);
  else scope.entriesByCall.set(callId, entries);
}

function newestAt(history: Version[], version: number): Version | undefined {
  return history.findLast((candidate) => candidate.version <= version);
}

function nameOf({ tenant, tool }: StateScope): string {
  return JSON.stringify([tenant, tool]);
}

/** The order databases keep text in; plain comparison would put U+FFFF after an emoji. */
function byCodePoint(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
