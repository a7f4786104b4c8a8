import {
  failure,
  isTerminal,
  LIFECYCLE_EDGES,
  type LifecycleState,
  SallyportError,
} from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Transaction } from "../effects/effect-transaction.ts";
import { NO_USAGE } from "../execute/index.ts";
import { type Failing, NOTHING_RAN, type Progress } from "../journal/progress.ts";
import { Completed, type Declared, declare, type Lifecycle, type Visit } from "./lifecycle.ts";

/** Everything a state may ask for is known. */
const progress: Failing = {
  call: { callId: "c", tenant: "acme", agent: "agent", tool: "tool", version: "1.0.0", operation: "run" },
  executionId: "c",
  inputHash: "",
  number: 1,
  startedAt: 0,
  usage: NO_USAGE,
  warnings: [],
  decision: {
    outcome: "allow",
    reason: "granted",
    rules: ["r"],
    capabilities: [],
    missing: [],
    policyVersion: "1",
  },
  rollback: NOTHING_RAN,
  error: failure("E3900"),
};

function transaction(active = true): Transaction {
  return {
    isActive: () => active,
    writes: () => undefined,
    commit: async () => undefined,
    rollback: async () => NOTHING_RAN,
  };
}

function begun(seen: Visit[] = []): Declared {
  let now = 0;
  return declare(progress, { now: () => ++now, watch: (visit) => seen.push(visit) });
}

const authorized = () => begun().validated(progress, {}).authorized(progress);
const executing = () => authorized().executing(progress, transaction());

const EDGES: Record<LifecycleState, string> = {
  DECLARED: "declared",
  VALIDATED: "validated",
  AUTHORIZED: "authorized",
  EXECUTING: "executing",
  COMPLETED: "completed",
  FAILED: "failed",
  DENIED: "denied",
  ABORTED: "aborted",
  ROLLED_BACK: "rolledBack",
};

/** Takes the edge by name, the way a careless caller without types would. */
function attemptEdge(life: Lifecycle, to: LifecycleState): Lifecycle {
  const edges = life as unknown as Record<string, (progress: Progress, given: unknown) => Lifecycle>;
  return (edges[EDGES[to]] as (typeof edges)[string]).call(life, progress, transaction());
}

describe("lifecycle", () => {
  it("takes every declared edge, and no other, under random events [R1-3]", () => {
    const state = fc.constantFrom(...(Object.keys(LIFECYCLE_EDGES) as LifecycleState[]));
    fc.assert(
      fc.property(fc.array(state, { maxLength: 12 }), (events) => {
        const seen: Visit[] = [];
        let life: Lifecycle = begun(seen);
        for (const to of events) {
          const from = life;
          const isLegal = (LIFECYCLE_EDGES[life.state] as readonly LifecycleState[]).includes(to);
          if (!isLegal) expect(() => attemptEdge(from, to)).toThrow();
          else life = attemptEdge(life, to);
          expect(life.state).toBe(isLegal ? to : from.state);
        }
        const path = seen.map((visit) => visit.state);
        for (let index = 1; index < path.length; index += 1) {
          expect(LIFECYCLE_EDGES[path[index - 1] as LifecycleState]).toContain(path[index]);
        }
      }),
    );
  });

  it("cannot be constructed except through an edge [R1-3]", () => {
    const forged = Completed as unknown as new (...given: unknown[]) => Completed;
    const observer = { now: () => 1, watch: () => undefined };
    expect(() => new forged(Symbol("lifecycle"), "COMPLETED", { observer, progress })).toThrow(
      SallyportError,
    );
  });

  it("leaves a state only once, so that an execution cannot end twice [R1-3]", () => {
    const once = executing();
    once.completed(progress);
    expect(() => once.rolledBack(progress)).toThrow(/left twice/);
  });

  it.each([
    [
      "executed without an active transaction [R1-3] [R1-5.1]",
      /active transaction/,
      () => authorized().executing(progress, transaction(false)),
    ],
    [
      "authorised while a capability is missing [R1-3]",
      /without a grant/,
      () =>
        begun()
          .validated(progress, {})
          .authorized({ ...progress, decision: { ...progress.decision, missing: ["state.write"] } as never }),
    ],
    [
      "authorised without a decision [R1-3]",
      /without a grant/,
      () =>
        begun()
          .validated(progress, {})
          .authorized({ ...progress, decision: undefined }),
    ],
    [
      "rolled back without proof [R1-3] [R1-7.2]",
      /without proof/,
      () => executing().rolledBack({ ...progress, rollback: { ...NOTHING_RAN, verified: false } }),
    ],
    [
      "rolled back after an abort without proof [R1-7.2]",
      /without proof/,
      () =>
        executing()
          .aborted(progress)
          .rolledBack({ ...progress, rollback: undefined }),
    ],
  ])("is not %s", (_, words, edge) => {
    expect(edge).toThrow(words);
  });

  it("tells a watcher each state in order with its time [R1-8.1]", () => {
    const seen: Visit[] = [];
    begun(seen)
      .validated(progress, {})
      .authorized(progress)
      .executing(progress, transaction())
      .completed(progress);
    expect(seen).toEqual([
      { state: "DECLARED", at: 1 },
      { state: "VALIDATED", at: 2 },
      { state: "AUTHORIZED", at: 3 },
      { state: "EXECUTING", at: 4 },
      { state: "COMPLETED", at: 5 },
    ]);
  });

  it("knows which states are final", () => {
    const final = (Object.keys(LIFECYCLE_EDGES) as LifecycleState[]).filter(isTerminal);
    expect(final.toSorted()).toEqual(["COMPLETED", "DENIED", "FAILED", "ROLLED_BACK"]);
  });
});
