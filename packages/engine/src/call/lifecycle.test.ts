import {
  failure,
  isTerminal,
  LIFECYCLE_EDGES,
  type LifecycleState,
  SallyportError,
} from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Decision } from "../ports/authority.ts";
import type { Transaction } from "../ports/transaction.ts";
import { Completed, declare, type Lifecycle, type Visit } from "./lifecycle.ts";

const granted: Decision = {
  outcome: "allow",
  reason: "granted",
  rules: ["r"],
  capabilities: [],
  missing: [],
  policyVersion: "1",
};
const proof = { verified: true, snapshotHash: "", discardedMutations: 0 };
const error = failure("E3900");

function transaction(active = true): Transaction {
  return {
    isActive: () => active,
    mutations: () => [],
    writes: () => undefined,
    commit: () => undefined,
    rollback: async () => proof,
  };
}

/** Tries to take the edge by name, the way a careless caller without types would. */
function attemptEdge(life: Lifecycle, to: LifecycleState): Lifecycle {
  const edges: Record<
    LifecycleState,
    (from: Record<string, (...given: unknown[]) => Lifecycle>) => Lifecycle
  > = {
    DECLARED: (from) => call(from, "declared"),
    VALIDATED: (from) => call(from, "validated", {}),
    AUTHORIZED: (from) => call(from, "authorized", granted),
    EXECUTING: (from) => call(from, "executing", transaction()),
    COMPLETED: (from) => call(from, "completed", 1),
    FAILED: (from) => call(from, "failed", error),
    DENIED: (from) => call(from, "denied", error),
    ABORTED: (from) => call(from, "aborted", error),
    ROLLED_BACK: (from) =>
      life.state === "ABORTED" ? call(from, "rolledBack", proof) : call(from, "rolledBack", error, proof),
  };
  return edges[to](life as never);
}

function call(
  from: Record<string, (...given: unknown[]) => Lifecycle>,
  name: string,
  ...given: unknown[]
): Lifecycle {
  const edge = from[name];
  if (!edge) throw new TypeError(`no edge ${name}`);
  return edge.apply(from, given);
}

describe("lifecycle", () => {
  it("takes every declared edge, and no other, under random events [R1-3]", () => {
    const state = fc.constantFrom(...(Object.keys(LIFECYCLE_EDGES) as LifecycleState[]));
    fc.assert(
      fc.property(fc.array(state, { maxLength: 12 }), (events) => {
        let life: Lifecycle = declare({ now: () => 1 });
        for (const to of events) {
          const legal = (LIFECYCLE_EDGES[life.state] as readonly LifecycleState[]).includes(to);
          if (!legal) {
            const from = life;
            expect(() => attemptEdge(from, to)).toThrow();
            continue;
          }
          life = attemptEdge(life, to);
          expect(life.state).toBe(to);
        }
        const path = life.trail.map((visit) => visit.state);
        for (let index = 1; index < path.length; index += 1) {
          expect(LIFECYCLE_EDGES[path[index - 1] as LifecycleState]).toContain(path[index]);
        }
      }),
      { numRuns: Number(process.env.SALLYPORT_FUZZ_RUNS ?? 500) },
    );
  });

  it("cannot be constructed except through an edge [R1-3]", () => {
    const forged = Completed as unknown as new (key: symbol, thread: unknown, output: unknown) => Completed;
    const thread = { trail: [], now: () => 1, watch: () => undefined };
    expect(() => new forged(Symbol("lifecycle"), thread, 1)).toThrow(SallyportError);
  });

  it("leaves a state only once, so that an execution cannot end twice [R1-3]", () => {
    const executing = declare({ now: () => 1 })
      .validated({})
      .authorized(granted)
      .executing(transaction());
    executing.completed(1);
    expect(() => executing.rolledBack(error, proof)).toThrow(/left twice/);
  });

  it("does not execute without an active transaction [R1-3] [R1-5.1]", () => {
    const authorized = declare({ now: () => 1 })
      .validated({})
      .authorized(granted);
    expect(() => authorized.executing(transaction(false))).toThrow(/active transaction/);
  });

  it("is not authorised while a capability is missing [R1-3]", () => {
    const validated = declare({ now: () => 1 }).validated({});
    expect(() => validated.authorized({ ...granted, missing: ["state.write"] })).toThrow(/without a grant/);
  });

  it("is not rolled back without proof [R1-3] [R1-7.2]", () => {
    const executing = declare({ now: () => 1 })
      .validated({})
      .authorized(granted)
      .executing(transaction());
    expect(() => executing.rolledBack(error, { ...proof, verified: false })).toThrow(/without proof/);
  });

  it("tells a watcher each state in order with its time [R1-8.1]", () => {
    const seen: Visit[] = [];
    let now = 0;
    const declared = declare({ now: () => ++now, watch: (visit) => seen.push(visit) });
    declared.validated({}).authorized(granted).executing(transaction()).completed(3);
    expect(seen.map(({ state }) => state)).toEqual([
      "DECLARED",
      "VALIDATED",
      "AUTHORIZED",
      "EXECUTING",
      "COMPLETED",
    ]);
    expect(seen.map(({ at }) => at)).toEqual([1, 2, 3, 4, 5]);
  });

  it("knows which states are final", () => {
    const final = (Object.keys(LIFECYCLE_EDGES) as LifecycleState[]).filter(isTerminal);
    expect(final.toSorted()).toEqual(["COMPLETED", "DENIED", "FAILED", "ROLLED_BACK"]);
  });
});
