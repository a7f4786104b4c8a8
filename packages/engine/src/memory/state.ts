import type { JsonValue } from "@sallyport/protocol";
import {
  byCodePoint,
  type StateReader,
  type StateScope,
  type StateSnapshot,
  snapshotGone,
} from "../ports/state.ts";
import type { Conflict, UnitOfWork } from "../ports/store.ts";

/** One value a key had; undefined marks a deletion. */
interface Version {
  version: number;
  callId: string;
  value: JsonValue | undefined;
}

/** A version that later snapshots do not need: a newer one took its place, or it says no more than an absent key. */
interface Outdated {
  scope: Scope;
  key: string;
  kept: Version;
  /** The version from which on nobody needs it. */
  neededBelow: number;
  at: number;
}

class Scope {
  version = 0;
  /** Snapshots below it may miss something. */
  floor = 0;
  /** Versions of each key, oldest first. */
  readonly history = new Map<string, Version[]>();

  /** The newest version of a key that a snapshot sees. */
  seen(key: string, { version }: StateSnapshot): Version | undefined {
    return this.history.get(key)?.findLast((candidate) => candidate.version <= version);
  }
}

/**
 * Multi-version state in memory. Each unit that writes in a scope raises the scope's version once; a snapshot is a
 * version, and reads through it see the newest value not above it. What no snapshot needs that was opened within the
 * retention goes with a later write of any scope.
 */
export class MemoryState {
  readonly #scopes = new Map<string, Scope>();
  /** In the order they became so. */
  readonly #outdated = new Set<Outdated>();
  readonly #retentionMs: number;
  readonly #now: () => number;

  constructor(retentionMs: number, now: () => number) {
    this.#retentionMs = retentionMs;
    this.#now = now;
  }

  readonly reader: StateReader = {
    open: async (scope) => ({ scope: { ...scope }, version: this.#enter(scope).version }),
    get: async (snapshot, key) => {
      const { value, version = 0 } = this.#through(snapshot).seen(key, snapshot) ?? {};
      return value === undefined ? undefined : { value: structuredClone(value), version };
    },
    keys: async (snapshot, { prefix, limit }) => {
      const scope = this.#through(snapshot);
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
      this.#put(scope, key, { version: scope.version, callId: state.callId, value });
    this.#sweep();
  }

  #put(scope: Scope, key: string, added: Version): void {
    const versions = scope.history.get(key) ?? [];
    const former = versions.at(-1);
    const outdated = { scope, key, neededBelow: added.version, at: this.#now() };
    // A deletion is outdated from its beginning.
    if (former && former.value !== undefined) this.#outdated.add({ ...outdated, kept: former });
    if (added.value === undefined) this.#outdated.add({ ...outdated, kept: added });
    versions.push(added);
    scope.history.set(key, versions);
  }

  #sweep(): void {
    const until = this.#now() - this.#retentionMs;
    for (const outdated of this.#outdated) {
      if (outdated.at > until) return;
      const { scope, key, kept, neededBelow } = outdated;
      const left = scope.history.get(key)?.filter((version) => version !== kept) ?? [];
      if (left.length > 0) scope.history.set(key, left);
      else scope.history.delete(key);
      scope.floor = Math.max(scope.floor, neededBelow);
      this.#outdated.delete(outdated);
    }
  }

  /** The scope of a snapshot that it sees as it was; throws for one that is too old. */
  #through({ scope, version }: StateSnapshot): Scope {
    const entered = this.#enter(scope);
    if (version < entered.floor) throw snapshotGone(scope);
    return entered;
  }

  #enter({ tenant, tool }: StateScope): Scope {
    const name = JSON.stringify([tenant, tool]);
    const scope = this.#scopes.get(name) ?? new Scope();
    this.#scopes.set(name, scope);
    return scope;
  }
}
