import fc from "fast-check";
import { expect, it } from "vitest";
import type { ApprovalState, ApprovalWrite } from "../ports/approvals.ts";
import type { CallPhase } from "../ports/calls.ts";
import type { Conflict, Store, UnitOfWork } from "../ports/store.ts";
import type { OpenFixture } from "./store-contract.ts";
import { moved, sampleApproval } from "./store-contract-permit-samples.ts";
import { newCallId, sampleClosing, sampleIntent, unitOf } from "./store-contract-samples.ts";

const STATES = ["pending", "approved", "reserved", "consumed", "denied"] as const;

/** One unit of one of two writers. A writer knows a revision from its own writes and from looking, so it may be late. */
interface Step {
  writer: number;
  looks: boolean;
  call: { do: "wait" | "begin" | "finish" | "lose"; which: number } | undefined;
  approvals: { which: number; state: ApprovalState; order: string | null | undefined }[];
}

const step: fc.Arbitrary<Step> = fc.record({
  writer: fc.nat(1),
  looks: fc.boolean(),
  call: fc.option(
    fc.record({ do: fc.constantFrom("wait", "begin", "finish", "lose"), which: fc.nat(1) } as const),
    { nil: undefined },
  ),
  approvals: fc.array(
    fc.record({
      which: fc.nat(1),
      state: fc.constantFrom(...STATES),
      order: fc.constantFrom("one", "two", null, undefined),
    }),
    { maxLength: 3 },
  ),
});

/** Whatever the interleaving, what is refused and what is kept agree with the model. */
export function approvalModelContract(open: OpenFixture): void {
  it("waiting calls and approvals change step by step, each once, in every interleaving [FR-APR-03]", async () => {
    const { store } = await open();
    const run = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const world = new World(store);
      for (const one of steps) await world.take(one);
      await world.check();
    });
    await fc.assert(run, { numRuns: 50 });
  });
}

interface Kept {
  revision: number;
  state: ApprovalState;
  order: string | undefined;
}

/** All there is to know, in its simplest form. A refused unit is tried on a copy that is thrown away. */
interface Model {
  calls: Map<string, { phase: CallPhase; owner: string }>;
  approvals: Map<string, Kept>;
  events: number;
}

/** The conflict of the unit, or the model after it. */
function tried(before: Model, unit: UnitOfWork): Conflict | Model {
  const { calls, approvals, events } = structuredClone(before);
  const { open, begin, close } = unit;
  if (open && calls.has(open.callId)) return { kind: "duplicate_call" };
  if (begin && calls.get(begin.callId)?.phase !== "waiting") return { kind: "not_waiting" };
  if (close && !mayClose(calls.get(close.callId)?.phase, close.phase)) return { kind: "not_open" };
  if (open) calls.set(open.callId, { phase: "waiting", owner: open.owner });
  if (begin) calls.set(begin.callId, { phase: "executing", owner: begin.owner });
  if (close) calls.set(close.callId, { owner: "", ...calls.get(close.callId), phase: close.phase });
  for (const { record, expect: known, order } of unit.approvals ?? []) {
    const { approvalId, revision, standing } = record;
    const kept = approvals.get(approvalId);
    if (kept?.revision !== known) return { kind: "approval", approvalId };
    const next = order === undefined ? kept?.order : (order ?? undefined);
    approvals.set(approvalId, { revision, state: standing.state, order: next });
  }
  return { calls, approvals, events: events + unit.events.length };
}

function mayClose(from: CallPhase | undefined, to: CallPhase): boolean {
  if (to === "unknown") return from === "executing";
  return from === "waiting" || from === "executing" || from === "unknown";
}

/** A store and its model side by side, in a tenant of their own. */
class World {
  readonly #store: Store;
  readonly #tenant = newCallId();
  readonly #known = [new Map<string, number>(), new Map<string, number>()];
  #model: Model = { calls: new Map(), approvals: new Map(), events: 0 };

  constructor(store: Store) {
    this.#store = store;
  }

  async take(one: Step): Promise<void> {
    const known = this.#known[one.writer] ?? new Map<string, number>();
    if (one.looks) for (const [id, { revision }] of this.#model.approvals) known.set(id, revision);
    const unit = this.#unit(one, known);
    const expected = tried(this.#model, unit);
    const result = await this.#store.commit(unit);
    if ("kind" in expected) {
      expect(result).toEqual({ ok: false, conflict: expected });
      return;
    }
    expect(result.ok).toBe(true);
    this.#model = expected;
    for (const { record } of unit.approvals ?? []) known.set(record.approvalId, record.revision);
  }

  async check(): Promise<void> {
    const calls = await this.#store.calls.list({ tenant: this.#tenant, limit: 99 });
    expect(new Map(calls.map(({ callId, phase, owner }) => [callId, { phase, owner }]))).toEqual(
      this.#model.calls,
    );
    const approvals = await this.#store.approvals.list({ tenant: this.#tenant, limit: 99 });
    const kept = approvals.map(async ({ approvalId, revision, standing }): Promise<[string, Kept]> => {
      const order = await this.#store.approvals.order(approvalId);
      return [approvalId, { revision, state: standing.state, order }];
    });
    expect(new Map(await Promise.all(kept))).toEqual(this.#model.approvals);
    expect((await this.#store.audit.head(this.#tenant))?.sequence ?? 0).toBe(this.#model.events);
  }

  #unit({ writer, call, approvals }: Step, known: ReadonlyMap<string, number>): UnitOfWork {
    const ahead = new Map(known);
    return unitOf({
      tenant: this.#tenant,
      ...(call && this.#callPart(call, writer)),
      approvals: approvals.map((write) => this.#write(write, ahead)),
      events: ["{}"],
    });
  }

  #callPart({ do: what, which }: NonNullable<Step["call"]>, writer: number): Partial<UnitOfWork> {
    const callId = `${this.#tenant}/call-${which}`;
    const intent = sampleIntent({ callId, tenant: this.#tenant, owner: `run-${writer}` });
    if (what === "wait") return { open: { ...intent, phase: "waiting" } };
    if (what === "begin") return { begin: intent };
    if (what === "lose") return { close: { callId, phase: "unknown" } };
    return { close: { callId, phase: "closed", closing: sampleClosing(callId) } };
  }

  #write({ which, state, order }: Step["approvals"][number], ahead: Map<string, number>): ApprovalWrite {
    const approvalId = `${this.#tenant}/approval-${which}`;
    const revision = ahead.get(approvalId);
    const record = moved(
      sampleApproval({ approvalId, tenant: this.#tenant, revision: revision ?? 0 }),
      state,
    );
    ahead.set(approvalId, record.revision);
    return {
      record,
      ...(revision !== undefined && { expect: revision }),
      ...(order !== undefined && { order }),
    };
  }
}
