import { hash } from "node:crypto";
import {
  canonicalJson,
  type Failure,
  failure,
  type JsonValue,
  type RollbackProof,
  SallyportError,
} from "@sallyport/protocol";
import {
  byCodePoint,
  type StateAccess,
  type StateEntry,
  type StateReader,
  type StateScope,
  type StateSnapshot,
  type StateWrites,
} from "../ports/state.ts";

/*
 * State machine: active → committed | rolled back. While active, reads go through one snapshot and see the
 * transaction's own changes; changes stay in memory. Nothing reaches the store before the unit of work that also
 * holds the outcome, so a rollback drops the changes and then checks the store against the pre-images.
 */

export const STATE_LIMITS = { keyBytes: 512, valueBytes: 256 * 1024, mutations: 1_000, keysPerList: 1_000 };

interface StateOptions {
  reader: StateReader;
  scope: StateScope;
  callId: string;
  /** What of a value cannot be kept, and where; undefined when all of it can. */
  unfit(value: JsonValue): { path: string | undefined; reason: string } | undefined;
}

interface Mutation {
  kind: "put" | "delete";
  key: string;
}

const DELETED = Symbol("deleted");

/** One execution's view of its tool's state: isolated while it runs, all or nothing when it ends. */
export class StateTransaction implements StateAccess {
  readonly #reader: StateReader;
  readonly #scope: StateScope;
  readonly #callId: string;
  readonly #unfit: StateOptions["unfit"];
  readonly #changes = new Map<string, JsonValue | typeof DELETED>();
  readonly #preimages = new Map<string, StateEntry | undefined>();
  readonly #mutations: Mutation[] = [];
  #snapshot: Promise<StateSnapshot> | undefined;
  #opened: StateSnapshot | undefined;
  #listed = false;
  #lost: Failure | undefined;
  #active = true;

  /** The snapshot is opened by the first use, so that a call without state costs the store nothing. */
  constructor({ reader, scope, callId, unfit }: StateOptions) {
    this.#unfit = unfit;
    this.#reader = reader;
    this.#scope = scope;
    this.#callId = callId;
  }

  isActive(): boolean {
    return this.#active;
  }

  /** Why the store has not shown the tool what it asked for, the first time. */
  get lost(): Failure | undefined {
    return this.#lost;
  }

  /** Changes made so far, in the order they were made. */
  mutations(): readonly Mutation[] {
    return this.#mutations;
  }

  async get(key: string): Promise<JsonValue | undefined> {
    this.#check(key);
    const changed = this.#changes.get(key);
    if (changed === DELETED) return undefined;
    if (changed !== undefined) return structuredClone(changed);
    return (await this.#before(key))?.value;
  }

  async put(key: string, value: JsonValue): Promise<void> {
    this.#check(key);
    const read = copyOf(value, this.#unfit);
    if ("unfit" in read) throw unfitValue(`the value of ${JSON.stringify(key)} ${read.unfit}`);
    await this.#change("put", key, read.copy);
  }

  async delete(key: string): Promise<void> {
    this.#check(key);
    await this.#change("delete", key, DELETED);
  }

  async keys(prefix: string): Promise<string[]> {
    this.#check(prefix);
    this.#listed = true;
    const snapshot = await this.#open();
    const own = [...this.#changes].filter(([key]) => key.startsWith(prefix));
    // As many more as this execution may have deleted, so that the list is cut after its own changes, not before.
    const limit = STATE_LIMITS.keysPerList + own.filter(([, value]) => value === DELETED).length;
    const all = new Set(await this.#shown(this.#reader.keys(snapshot, { prefix, limit })));
    for (const [key, value] of own) {
      if (value === DELETED) all.delete(key);
      else all.add(key);
    }
    return [...all].sort(byCodePoint).slice(0, STATE_LIMITS.keysPerList);
  }

  /**
   * A digest of the values this execution has read, empty when it has read none; undefined when it has listed keys, which
   * are not kept.
   */
  seen(): string | undefined {
    if (this.#listed) return undefined;
    if (this.#preimages.size === 0) return "";
    return digest(this.#preimages, (entry) => [entry ? [entry.value] : []]);
  }

  /** What has to be written for these changes to hold; undefined when there are none. */
  writes(): StateWrites | undefined {
    if (this.#changes.size === 0 || !this.#opened) return undefined;
    const writes = [...this.#changes].map(([key, value]) => ({
      key,
      value: value === DELETED ? undefined : value,
      ...(this.#preimages.get(key) && { existed: true }),
    }));
    return { scope: this.#scope, callId: this.#callId, snapshotVersion: this.#opened.version, writes };
  }

  /** Ends the transaction after its writes have become durable. */
  commit(): void {
    this.#end();
  }

  /** Drops every change and proves that nothing of them is left. Rejects only when the store is lost. */
  async rollback(): Promise<RollbackProof> {
    this.#active = false;
    const discardedMutations = this.#mutations.length;
    this.#changes.clear();
    try {
      return { ...(await this.#prove()), discardedMutations };
    } finally {
      this.#end();
    }
  }

  async #prove(): Promise<Pick<RollbackProof, "verified" | "snapshotHash">> {
    // One that could not be opened has shown nothing, and nothing can be written by it.
    const snapshot = await this.#snapshot?.catch(() => undefined);
    const snapshotHash = digest(this.#preimages);
    if (!snapshot) return { verified: true, snapshotHash };
    const after = new Map<string, StateEntry | undefined>();
    for (const key of this.#preimages.keys()) after.set(key, await this.#reader.get(snapshot, key));
    const left = await this.#reader.writtenBy(this.#scope, this.#callId);
    return { verified: left === 0 && digest(after) === snapshotHash, snapshotHash };
  }

  async #change(kind: Mutation["kind"], key: string, value: JsonValue | typeof DELETED): Promise<void> {
    if (this.#mutations.length >= STATE_LIMITS.mutations) {
      throw misuse(`more than ${STATE_LIMITS.mutations} changes in one call`);
    }
    this.#mutations.push({ kind, key });
    await this.#before(key);
    this.#requireActive();
    this.#changes.set(key, value);
  }

  /** The value before this execution; read once, so that it is also the pre-image the rollback is checked against. */
  async #before(key: string): Promise<StateEntry | undefined> {
    if (this.#preimages.has(key)) return this.#preimages.get(key);
    const snapshot = await this.#open();
    const entry = await this.#shown(this.#reader.get(snapshot, key));
    this.#preimages.set(key, entry);
    return entry;
  }

  async #open(): Promise<StateSnapshot> {
    this.#requireActive();
    this.#snapshot ??= this.#reader.open(this.#scope);
    this.#opened = await this.#shown(this.#snapshot);
    return this.#opened;
  }

  async #shown<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof SallyportError) {
        const { details: _ofTheQuestion, ...lost } = error.failure;
        this.#lost ??= lost;
      }
      throw error;
    }
  }

  #end(): void {
    this.#active = false;
    this.#snapshot = undefined;
  }

  #check(key: string): void {
    this.#requireActive();
    if (typeof key !== "string" || Buffer.byteLength(key) > STATE_LIMITS.keyBytes || !key.isWellFormed()) {
      throw misuse(`a key is a string of at most ${STATE_LIMITS.keyBytes} bytes`);
    }
  }

  #requireActive(): void {
    if (!this.#active) throw misuse("the call's transaction has ended");
  }
}

/** A copy of a value that can be kept as results can (E3709 otherwise), or what is wrong with it. */
function copyOf(value: JsonValue, unfitPart: StateOptions["unfit"]): { copy: JsonValue } | { unfit: string } {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    return { unfit: "is not JSON, or nested too deeply" };
  }
  if (text === undefined) return { unfit: "is not JSON" };
  if (Buffer.byteLength(text) > STATE_LIMITS.valueBytes)
    return { unfit: `is larger than ${STATE_LIMITS.valueBytes} bytes` };
  const copy: JsonValue = JSON.parse(text);
  const unfit = unfitPart(copy);
  return unfit ? { unfit: `${unfit.path ? `at ${unfit.path} ` : ""}${unfit.reason}` } : { copy };
}

/** A tool that does not catch it has failed with this code. */
function unfitValue(what: string): SallyportError {
  const refused = new SallyportError(failure("E3709", { message: `State was not changed: ${what}.` }));
  return Object.assign(refused, { toolCode: refused.failure.code });
}

function misuse(what: string): SallyportError {
  return new SallyportError(failure("E3911", { message: `State was not changed: ${what}.` }));
}

/** SHA-256 over what `rowOf` says of each entry, by key. */
function digest(entries: ReadonlyMap<string, StateEntry | undefined>, rowOf = entireRow): string {
  const rows = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return hash("sha256", canonicalJson(rows.map(([key, entry]) => [key, ...rowOf(entry)])));
}

function entireRow(entry: StateEntry | undefined): JsonValue[] {
  return [entry?.version ?? 0, entry?.value ?? null];
}
