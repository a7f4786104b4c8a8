import { hash } from "node:crypto";
import { canonicalJson, isFailure, type JsonValue } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { approvalDigest } from "../approve/digest.ts";
import { createMemoryStore } from "../memory/index.ts";
import type { Authority } from "../ports/authority.ts";
import type { Store } from "../ports/store.ts";
import { fixtureTool, SUM_INPUT } from "../testing/fixture-engine.ts";
import { createEngine, type Engine } from "./engine.ts";

/*
 * Calls, people, clocks and crashes in random order, over one store. Whatever happens: a call runs at most once, and
 * only by a live approval of exactly what it ran with.
 */

const CALLS = ["c1", "c2"] as const;
const CALLER = { tenant: "acme", agent: "agent" };

type Step =
  | { do: "ask"; call: (typeof CALLS)[number] }
  | { do: "approve" | "deny" | "edit" | "resume" | "withdraw"; call: (typeof CALLS)[number] }
  | { do: "twice"; call: (typeof CALLS)[number] }
  | { do: "crash"; after: number }
  | { do: "policy" }
  | { do: "time"; hours: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ask" as const), call: fc.constantFrom(...CALLS) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom("approve" as const, "resume" as const, "edit" as const, "deny" as const),
      call: fc.constantFrom(...CALLS),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("twice" as const), call: fc.constantFrom(...CALLS) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("crash" as const), after: fc.integer({ min: 0, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "policy" as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("time" as const), hours: fc.constantFrom(1, 30) }) },
);

interface World {
  store: Store;
  now: number;
  policy: number;
  /** Commits the present engine may still make; then it is dead, as a killed process is. */
  life: { left: number };
  runs: { callId: string; input: JsonValue; policy: string; manifestHash: string }[];
  engine: Engine;
}

const tool = (world: World) =>
  fixtureTool({
    id: "pay",
    input: SUM_INPUT,
    conduct: { sideEffects: "external" },
    run: (input: JsonValue, context) => {
      world.runs.push({ callId: context.callId, input, policy: `v${world.policy}`, manifestHash: "" });
      return null;
    },
  });

/** A store whose user dies after so many commits: nothing it does afterwards arrives, and nothing answers it. */
function mortal(store: Store, life: World["life"]): Store {
  const never = new Promise<never>(() => undefined);
  const { calls, state, audit, outbox, tools, approvals, grants, revocations, queue, callbacks } = store;
  return {
    calls,
    state,
    audit,
    outbox,
    tools,
    approvals,
    grants,
    revocations,
    queue,
    callbacks,
    commit: async (unit) => {
      if (life.left <= 0) return await never;
      life.left -= 1;
      return await store.commit(unit);
    },
    close: async () => undefined,
  };
}

async function begin(world: Omit<World, "engine">): Promise<World> {
  const whole = world as World;
  const authority: Authority = {
    decide: () => ({
      outcome: "ask",
      reason: "ask",
      rules: [],
      capabilities: [],
      missing: [],
      policyVersion: `v${whole.policy}`,
    }),
  };
  whole.engine = await createEngine({
    store: mortal(whole.store, whole.life),
    authority,
    clock: { now: () => whole.now },
    limits: { storeMs: 20 },
  });
  const { manifest, implementation } = tool(whole);
  await whole.engine.tools.register(manifest, { implementation, keep: false });
  await whole.engine.recover();
  return whole;
}

async function take(world: World, step: Step): Promise<void> {
  const { engine } = world;
  switch (step.do) {
    case "ask":
      await engine.call({ tool: "pay", input: { a: 1, b: 2 }, caller: CALLER, callId: step.call });
      return;
    case "resume":
      await engine.resume(step.call);
      return;
    case "twice":
      await Promise.all([
        engine.resume(step.call),
        engine.resume(step.call),
        answer(world, step.call, "deny"),
      ]);
      return;
    case "policy":
      world.policy += 1;
      return;
    case "time":
      world.now += step.hours * 3_600_000;
      await engine.approvals.expireDue().catch(() => 0);
      return;
    case "crash":
      world.life.left = step.after;
      await engine.resume("c1");
      await engine.resume("c2");
      world.life = { left: Number.POSITIVE_INFINITY };
      await begin(world);
      return;
    default:
      await answer(world, step.call, step.do);
  }
}

async function answer({ engine, store }: World, callId: string, how: string): Promise<void> {
  const record = await store.approvals.ofCall(callId);
  if (!record) return;
  const by = "ada";
  const { approvalId } = record;
  try {
    if (how === "approve") await engine.approvals.approve(approvalId, { by });
    if (how === "deny") await engine.approvals.deny(approvalId, { by, reason: "no" });
    if (how === "edit")
      await engine.approvals.edit(approvalId, { by, input: { a: 7, b: world7(approvalId) } });
  } catch {
    // A dead engine does not answer.
  }
}

const world7 = (text: string): number => text.length;

async function check(world: World): Promise<void> {
  const { store, runs } = world;
  for (const callId of CALLS) {
    const own = runs.filter((run) => run.callId === callId);
    expect(own.length).toBeLessThanOrEqual(1);
    const [run] = own;
    if (!run) continue;
    const approvals = await store.approvals.list({ limit: 1_000 });
    const spent = approvals.filter((each) => each.callId === callId && each.standing.state === "consumed");
    expect(spent).toHaveLength(1);
    const [approval] = spent;
    if (!approval) continue;
    const inputHash = hash("sha256", canonicalJson(run.input));
    const digest = approvalDigest({ ...approval, inputHash, policyVersion: run.policy, caller: CALLER });
    expect(approval.digest).toBe(digest);
    expect(approval.votes.every((vote) => vote.digest === digest)).toBe(true);
    expect(approval.votes.map(({ by }) => by)).toEqual(["ada"]);
  }
}

/** Every call has an end: it waits with a question that can be answered, or it has a verdict. */
async function checkAnswerable({ store, engine }: World): Promise<void> {
  for (const callId of CALLS) {
    const call = await store.calls.get(callId);
    if (call?.phase !== "waiting") continue;
    const approval = await store.approvals.ofCall(callId);
    expect(approval).toBeDefined();
    const resumed = await engine.resume(callId);
    expect(isFailure(resumed) ? resumed.code : "answered").toBe("answered");
  }
}

describe("approvals under random interleavings", () => {
  it("let a call run at most once, and only by a live approval of exactly its digest [FR-APR-03]", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const world = await begin({
          store: createMemoryStore(),
          now: Date.UTC(2026, 0, 1),
          policy: 1,
          life: { left: Number.POSITIVE_INFINITY },
          runs: [],
        });
        for (const each of steps) {
          await take(world, each);
          await check(world);
        }
        await checkAnswerable(world);
      }),
      { numRuns: 150 },
    );
  }, 120_000);
});
