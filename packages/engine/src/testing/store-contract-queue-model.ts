import fc from "fast-check";
import { expect, it } from "vitest";
import type { CallPhase } from "../ports/calls.ts";
import type { Conflict, Store, UnitOfWork } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import { beginning, ending, queuedCall } from "./store-contract-queue-samples.ts";
import { newCallId, queueing } from "./store-contract-samples.ts";

const CALLS = 6;

/** A unit about one of a few calls, or a look at the next page. */
type Step = { do: "accept" | "begin" | "end"; which: number } | { do: "page"; limit: number };

const which = fc.nat(CALLS - 1);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("accept"), which } as const) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("begin", "end"), which } as const) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("page"), limit: fc.nat(3) } as const) },
);

/** Whatever happens between two pages, the queue agrees with a plain list. */
export function queueModelContract(open: OpenFixture): void {
  it("calls enter and leave the queue, and are read page by page, as in a plain list", async () => {
    const { store } = await open();
    const run = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      await emptyQueue(store);
      const world = new World(store);
      for (const one of steps) await world.take(one);
      await world.check();
    });
    await fc.assert(run, { numRuns: 50 });
  });
}

/** What an earlier run left must not be seen by the next. */
async function emptyQueue(store: Store): Promise<void> {
  for (const { callId, tenant } of await store.queue.list({ limit: 99 })) {
    await store.commit(ending(queuedCall({ callId, tenant })));
  }
}

/** A store and its model side by side, in a tenant of their own. */
class World {
  readonly #store: Store;
  readonly #tenant = newCallId();
  /** Phases by call; the calls in the order they were accepted. */
  readonly #phases = new Map<string, CallPhase>();
  #after: string | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  async take(one: Step): Promise<void> {
    if (one.do === "page") return this.#page(one.limit);
    const callId = `${this.#tenant}/${one.which}`;
    const conflict = conflictOf(one.do, this.#phases.get(callId));
    const result = await this.#store.commit(this.#unit(one.do, callId));
    expect(result).toEqual(conflict ? { ok: false, conflict } : { ok: true, links: expect.anything() });
    if (!conflict) this.#phases.set(callId, AFTER[one.do]);
  }

  async check(): Promise<void> {
    const queue = await this.#store.queue.list({ limit: 99 });
    expect(queue.map(({ callId }) => callId)).toEqual(this.#queued());
    const calls = await this.#store.calls.list({ tenant: this.#tenant, limit: 99 });
    expect(calls.map(({ callId, phase }) => [callId, phase])).toEqual([...this.#phases].reverse());
    for (const [callId, phase] of this.#phases) {
      const order = phase === "queued" ? `order of ${callId}` : undefined;
      expect(await this.#store.queue.order(callId)).toBe(order);
    }
  }

  /** Goes on behind the last call that was seen, wherever that is by now; starts again at the end. */
  async #page(limit: number): Promise<void> {
    const after = this.#after;
    const page = await this.#store.queue.list({ limit, ...(after !== undefined && { after }) });
    const ids = page.map(({ callId }) => callId);
    expect(ids).toEqual(this.#queued(after).slice(0, limit));
    this.#after = ids.at(-1);
  }

  #queued(after?: string): string[] {
    const entered = [...this.#phases.keys()];
    const later = after === undefined ? entered : entered.slice(entered.indexOf(after) + 1);
    return later.filter((callId) => this.#phases.get(callId) === "queued");
  }

  #unit(what: "accept" | "begin" | "end", callId: string): UnitOfWork {
    const call = queuedCall({ callId, tenant: this.#tenant });
    if (what === "accept") return queueing(call);
    return what === "begin" ? beginning(call) : ending(call);
  }
}

const AFTER = { accept: "queued", begin: "executing", end: "closed" } as const;

function conflictOf(what: "accept" | "begin" | "end", phase: CallPhase | undefined): Conflict | undefined {
  if (what === "accept") return phase === undefined ? undefined : { kind: "duplicate_call" };
  if (what === "begin") return phase === "queued" ? undefined : { kind: "not_waiting" };
  return phase === "queued" || phase === "executing" ? undefined : { kind: "not_open" };
}
