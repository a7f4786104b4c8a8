import type { JsonValue } from "@sallyport/protocol";
import type { StateEntry, StateScope, StateSnapshot, StateWrites } from "../../ports/state.ts";

/** One value a key had; `text` undefined marks a deletion. */
interface Version {
  version: number;
  callId: string;
  text: string | undefined;
}

/** What a unit will write, already turned into text so that writing cannot fail half way. */
export interface PreparedWrites {
  scope: StateScope;
  callId: string;
  writes: { key: string; text: string | undefined }[];
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
export class MemoryState {
  readonly #scopes = new Map<string, Scope>();

  open(scope: StateScope): StateSnapshot {
    const kept = this.#enter(scope);
    const snapshot = { scope: { ...scope }, version: kept.version };
    kept.snapshots.add(snapshot);
    return snapshot;
  }

  release(snapshot: StateSnapshot): void {
    this.#scopes.get(nameOf(snapshot.scope))?.snapshots.delete(snapshot);
  }

  get(snapshot: StateSnapshot, key: string): StateEntry | undefined {
    const history = this.#scopes.get(nameOf(snapshot.scope))?.history.get(key);
    const seen = history && newestAt(history, snapshot.version);
    if (seen?.text === undefined) return undefined;
    const value: JsonValue = JSON.parse(seen.text);
    return { value, version: seen.version };
  }

  keys(snapshot: StateSnapshot, { prefix, limit }: { prefix: string; limit: number }): string[] {
    const history = this.#scopes.get(nameOf(snapshot.scope))?.history ?? new Map<string, Version[]>();
    const live = [...history].filter(
      ([key, versions]) => key.startsWith(prefix) && newestAt(versions, snapshot.version)?.text !== undefined,
    );
    return live
      .map(([key]) => key)
      .sort(byCodePoint)
      .slice(0, limit);
  }

  writtenBy(scope: StateScope, callId: string): number {
    return this.#scopes.get(nameOf(scope))?.entriesByCall.get(callId) ?? 0;
  }

  /** The keys somebody wrote after the snapshot; empty when the writes may go ahead. */
  conflicts(state: StateWrites): string[] {
    const history = this.#scopes.get(nameOf(state.scope))?.history;
    const keys = new Set(state.writes.map(({ key }) => key));
    return [...keys].filter((key) => (history?.get(key)?.at(-1)?.version ?? 0) > state.snapshotVersion);
  }

  write({ scope: name, callId, writes }: PreparedWrites): void {
    if (writes.length === 0) return;
    const scope = this.#enter(name);
    scope.version += 1;
    const lastOfEach = new Map(writes.map(({ key, text }) => [key, text]));
    for (const [key, text] of lastOfEach) put(scope, key, { version: scope.version, callId, text });
    sweepDeleted(scope);
  }

  #enter(name: StateScope): Scope {
    const scope = this.#scopes.get(nameOf(name)) ?? new Scope();
    this.#scopes.set(nameOf(name), scope);
    return scope;
  }
}

/** Throws when a value is not JSON; nothing has been written then. */
export function prepareWrites({ scope, callId, writes }: StateWrites): PreparedWrites {
  const texts = writes.map(({ key, value }) => ({
    key,
    text: value === undefined ? undefined : JSON.stringify(value),
  }));
  return { scope, callId, writes: texts };
}

function put(scope: Scope, key: string, added: Version): void {
  const history = [...(scope.history.get(key) ?? []), added];
  const needed = history.filter((version, index) => isNeeded(scope, version, history[index + 1]));
  for (const version of history) if (!needed.includes(version)) count(scope, version.callId, -1);
  count(scope, added.callId, 1);
  scope.history.set(key, needed);
  scope.deleted.delete(key);
  if (added.text === undefined) scope.deleted.set(key, added.version);
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
