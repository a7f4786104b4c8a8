import { randomBytes } from "node:crypto";
import { isFailure, type JsonValue } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GrantShelf, hmacSigner } from "../authorise/capability/index.ts";
import { HouseAuthority } from "../authorise/house-authority.ts";
import { createMemoryStore } from "../memory/index.ts";
import type { Policy } from "../ports/policy.ts";
import type { Store } from "../ports/store.ts";
import { fixtureTool } from "../testing/fixture-engine.ts";
import { createEngine, type Engine } from "./engine.ts";

/*
 * Standing grants and approvals together, in random order, over one store and several lives of the engine. Whatever
 * happens: a call runs at most once, and when it runs either its approval is spent or a live grant answers for exactly
 * its arguments.
 */

type Step =
  | { do: "call"; n: number }
  | { do: "always" | "approve" | "deny" | "resume"; nth: number }
  | { do: "revoke"; nth: number }
  | { do: "time"; hours: number }
  | { do: "restart" };

const nth = fc.nat(5);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("call" as const), n: fc.integer({ min: 1, max: 2 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "always" as const,
        "approve" as const,
        "approve" as const,
        "deny" as const,
        "resume" as const,
        "resume" as const,
      ),
      nth,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("revoke" as const), nth }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("time" as const), hours: fc.constantFrom(1, 5, 30) }) },
  { weight: 1, arbitrary: fc.constant({ do: "restart" as const }) },
);

interface World {
  store: Store;
  key: Buffer;
  now: number;
  runs: Map<string, number>;
  wrong: string[];
  engine: Engine;
}

const GRANT = { id: "all", tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"], capabilities: [] };
const asks: Policy = {
  name: "asks",
  decide: () => ({ outcome: "ask", reason: "ask", rules: ["ask"], policyVersion: "1", tier: "operator" }),
};

async function begin(world: Omit<World, "engine">): Promise<World> {
  const whole = world as World;
  const signer = hmacSigner(world.key);
  const shelf = new GrantShelf(signer);
  const authority = new HouseAuthority({ grants: [GRANT], policies: [asks], shelf });
  const clock = { now: () => whole.now };
  whole.engine = await createEngine({ store: whole.store, authority, signer, shelf, clock });
  const { manifest, implementation } = fixtureTool({
    id: "pay",
    conduct: { sideEffects: "external" },
    run: async (input: JsonValue, { callId }) => {
      whole.runs.set(callId, (whole.runs.get(callId) ?? 0) + 1);
      const why = await unjustified(whole, { callId, input });
      if (why) whole.wrong.push(why);
      return null;
    },
  });
  await whole.engine.tools.register(manifest, { implementation, keep: false });
  return whole;
}

/** Looked at while the tool runs: what does the store say lets it? */
async function unjustified(
  { store, now }: World,
  run: { callId: string; input: JsonValue },
): Promise<string | undefined> {
  const approval = await store.approvals.ofCall(run.callId);
  if (approval?.standing.state === "consumed") return undefined;
  const live = (await store.grants.all()).some(
    (grant) =>
      grant.kind === "standing" &&
      grant.revokedAt === undefined &&
      (grant.expiresAt ?? Number.POSITIVE_INFINITY) > now &&
      grant.arguments.every(({ match }) => JSON.stringify(match.equals) === JSON.stringify(run.input)),
  );
  return live
    ? undefined
    : `${run.callId} ran with approval ${String(approval?.standing.state)} and no grant`;
}

async function take(world: World, step: Step): Promise<void> {
  const { engine, store } = world;
  const caller = { tenant: "acme", agent: "agent" };
  if (step.do === "call") return void (await engine.call({ tool: "pay", input: { n: step.n }, caller }));
  if (step.do === "restart") return void (await begin(world));
  if (step.do === "time") {
    world.now += step.hours * 3_600_000;
    return;
  }
  if (step.do === "revoke") {
    const grants = await store.grants.all();
    const chosen = grants[step.nth % Math.max(1, grants.length)];
    if (chosen) await engine.grants.revoke(chosen.grantId, { by: "ada", reason: "over" });
    return;
  }
  const approvals = await store.approvals.list({ limit: 100 });
  const chosen = approvals[step.nth % Math.max(1, approvals.length)];
  if (!chosen) return;
  const { approvalId, callId } = chosen;
  const always = {
    arguments: "exact",
    agent: "this",
    tier: "operator",
    until: world.now + 4 * 3_600_000,
  } as const;
  if (step.do === "always") await engine.approvals.approve(approvalId, { by: "ada", always });
  if (step.do === "approve") await engine.approvals.approve(approvalId, { by: "ada" });
  if (step.do === "deny") await engine.approvals.deny(approvalId, { by: "ada", reason: "no" });
  if (step.do === "resume") await engine.resume(callId);
}

describe("grants and approvals under random interleavings", () => {
  it("let a call run at most once, by a spent approval or a live grant of exactly its arguments [R3-3]", async () => {
    let ran = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 45 }), async (steps) => {
        const world = await begin({
          store: createMemoryStore(),
          key: randomBytes(32),
          now: Date.UTC(2026, 0, 1),
          runs: new Map(),
          wrong: [],
        });
        for (const each of steps) await take(world, each);
        expect(world.wrong).toEqual([]);
        for (const [callId, runs] of world.runs) {
          expect(runs).toBe(1);
          const answer = await world.engine.resume(callId);
          expect(isFailure(answer) ? answer.code : answer.status).toBe("success");
        }
        ran += world.runs.size;
      }),
      { numRuns: 120 },
    );
    // A model in which nothing ever runs would prove nothing.
    expect(ran).toBeGreaterThan(50);
  }, 120_000);
});
