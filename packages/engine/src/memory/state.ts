import type { JsonValue } from "@sallyport/protocol";
import { byCodePoint, type StateReader, type StateScope, type StateSnapshot } from "../ports/state.ts";
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
  /** Keys whose newest version is a deletion, in the order they were deleted. */
  readonly deleted = new Map<string, number>();

  /** The newest version of a key that a snapshot sees. */
  seen(key: string, { version }: StateSnapshot): Version | undefined {
    return this.history.get(key)?.findLast((candidate) => candidate.version <= version);
  }

  put(key: string, added: Version): void {
    const versions = [...(this.history.get(key) ?? []), added];
    const needed = versions.filter(({ version }, index) => {
      const next = versions[index + 1]?.version ?? Infinity;
      return next === Infinity || this.#isOpen((open) => version <= open && open < next);
    });
    this.history.set(key, needed);
    this.deleted.delete(key);
    if (added.value === undefined) this.deleted.set(key, added.version);
  }

  /** Forgets the deletions that every open snapshot is at or past. */
  sweep(): void {
    for (const [key, version] of this.deleted) {
      if (this.#isOpen((open) => open < version)) return;
      this.history.delete(key);
      this.deleted.delete(key);
    }
  }

  #isOpen(matches: (version: number) => boolean): boolean {
    return [...this.snapshots].some(({ version }) => matches(version));
  }
}

/**
 * Multi-version state in memory. Each unit that writes in a scope raises the scope's version once; a snapshot is a
 * version, and reads through it see the newest value not above it. A value no open snapshot can see goes when its
 * key is written again; a deletion goes once every open snapshot is at or past it.
 */
export class MemoryState {
  readonly #scopes = new Map<string, Scope>();

  readonly reader: StateReader = {
    open: async (scope) => {
      const { version, snapshots } = this.#enter(scope);
      const snapshot = { scope: { ...scope }, version };
      snapshots.add(snapshot);
      return snapshot;
    },
    release: (snapshot) => void this.#enter(snapshot.scope).snapshots.delete(snapshot),
    get: async (snapshot, key) => {
      const { value, version = 0 } = this.#enter(snapshot.scope).seen(key, snapshot) ?? {};
      return value === undefined ? undefined : { value: structuredClone(value), version };
    },
    keys: async (snapshot, { prefix, limit }) => {
      const scope = this.#enter(snapshot.scope);
      const isLive = (key: string) =>
        key.startsWith(prefix) && scope.seen(key, snapshot)?.value !== undefined;
      return [...scope.history.keys()].filter(isLive).sort(byCodePoint).slice(0, limit);
    },
    writtenBy: async (scope, callId) =>
      [...this.#enter(scope).history.values()].flat().filter((version) => version.callId === callId).length,
  };

  /** The keys somebody wrote or deleted after the snapshot. */
  conflict({ state }: UnitOfWork): Conflict | undefined {
    if (!state) return undefined;
    const { history } = this.#enter(state.scope);
    const changed = state.writes.filter(({ key, existed }) => {
      const newest = history.get(key)?.at(-1);
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
    for (const [key, value] of lastOfEach)
      scope.put(key, { version: scope.version, callId: state.callId, value });
    scope.sweep();
  }

  #enter({ tenant, tool }: StateScope): Scope {
    const name = JSON.stringify([tenant, tool]);
    const scope = this.#scopes.get(name) ?? new Scope();
    this.#scopes.set(name, scope);
    return scope;
  }
}
