import fc from "fast-check";
import { expect, it } from "vitest";
import type { StateScope, StateSnapshot } from "../ports/state.ts";
import type { Store } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import { newCallId, writing } from "./store-contract-samples.ts";

const KEYS = ["a", "a/b", "b", "c"] as const;

type Step =
  | { do: "begin" | "commit" | "abort" | "look"; tx: number }
  | { do: "put"; tx: number; key: string; value: number }
  | { do: "delete"; tx: number; key: string };

interface Transaction {
  snapshot: StateSnapshot;
  writes: Map<string, number | undefined>;
}

/** Snapshot isolation in its simplest form: the whole contents at every version, and who wrote each key last. */
class Model {
  readonly versions: Map<string, number>[] = [new Map()];
  readonly lastWritten = new Map<string, number>();

  conflicts({ snapshot, writes }: Transaction): string[] {
    return [...writes.keys()].filter((key) => (this.lastWritten.get(key) ?? 0) > snapshot.version);
  }

  write(writes: Transaction["writes"]): void {
    if (writes.size === 0) return;
    const next = new Map(this.versions.at(-1));
    for (const [key, value] of writes) {
      if (value === undefined) next.delete(key);
      else next.set(key, value);
      this.lastWritten.set(key, this.versions.length);
    }
    this.versions.push(next);
  }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom("begin", "commit", "abort", "look"), tx: fc.nat(3) }),
  fc.record({ do: fc.constant("put"), tx: fc.nat(3), key: fc.constantFrom(...KEYS), value: fc.nat(99) }),
  fc.record({ do: fc.constant("delete"), tx: fc.nat(3), key: fc.constantFrom(...KEYS) }),
);

/** Whatever the interleaving, values read, conflicts and the end agree with the model. */
export function stateModelContract(open: OpenFixture): void {
  it("transactional state behaves as snapshot isolation in every interleaving [R1-4.3]", async () => {
    const { store } = await open();
    const run = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
      const world = new World(store);
      for (const one of steps) await world.take(one);
      await world.checkEnd();
    });
    await fc.assert(run, { numRuns: 60 });
  });
}

/** A store and its model side by side, in a scope of their own. */
class World {
  readonly #store: Store;
  readonly #scope: StateScope = { tenant: "model", tool: newCallId() };
  readonly #model = new Model();
  readonly #open = new Map<number, Transaction>();

  constructor(store: Store) {
    this.#store = store;
  }

  async take(one: Step): Promise<void> {
    const transaction = this.#open.get(one.tx) ?? (await this.#begin(one.tx));
    if (one.do === "put") transaction.writes.set(one.key, one.value);
    if (one.do === "delete") transaction.writes.set(one.key, undefined);
    if (one.do === "look") await this.#checkAll(transaction.snapshot);
    if (one.do === "commit") await this.#commit(transaction);
    if (one.do === "commit" || one.do === "abort") this.#end(one.tx, transaction);
  }

  async checkEnd(): Promise<void> {
    for (const { snapshot } of this.#open.values()) await this.#checkAll(snapshot);
    for (const [tx, transaction] of this.#open) this.#end(tx, transaction);
    const last = await this.#store.state.open(this.#scope);
    expect(last.version).toBe(this.#model.versions.length - 1);
    await this.#checkAll(last);
    this.#store.state.release(last);
  }

  async #begin(tx: number): Promise<Transaction> {
    const transaction = { snapshot: await this.#store.state.open(this.#scope), writes: new Map() };
    this.#open.set(tx, transaction);
    return transaction;
  }

  async #commit(transaction: Transaction): Promise<void> {
    const conflicts = this.#model.conflicts(transaction);
    const unit = writing(this.#scope, transaction.snapshot, Object.fromEntries(transaction.writes));
    const result = await this.#store.commit(unit);
    expect(result.ok).toBe(conflicts.length === 0);
    if (result.ok) this.#model.write(transaction.writes);
    else expect(result.conflict).toEqual({ kind: "state", keys: expect.toSatisfy(sameKeys(conflicts)) });
  }

  #end(tx: number, { snapshot }: Transaction): void {
    this.#store.state.release(snapshot);
    this.#open.delete(tx);
  }

  async #checkAll(snapshot: StateSnapshot): Promise<void> {
    const expected = this.#model.versions[snapshot.version] ?? new Map<string, number>();
    for (const key of KEYS) {
      expect((await this.#store.state.get(snapshot, key))?.value).toBe(expected.get(key));
    }
    const keys = await this.#store.state.keys(snapshot, { prefix: "", limit: 10 });
    expect(keys).toEqual([...expected.keys()].sort());
  }
}

function sameKeys(expected: string[]): (found: string[]) => boolean {
  return (found) => found.toSorted().join() === expected.toSorted().join();
}
