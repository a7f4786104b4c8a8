import { hash, randomBytes } from "node:crypto";
import { canonicalJson, isFailure, type JsonValue } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEngine, type Engine } from "../admin/engine.ts";
import { ConfiguredAuthority } from "../authorise/authority.ts";
import { GrantIndex, hmacSigner } from "../authorise/grant/index.ts";
import { mapMethods } from "../map-methods.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { ApprovalRecord } from "../ports/approvals.ts";
import type { Store } from "../ports/store.ts";
import { crashed, fixtureTool } from "../testing/fixture-engine.ts";
import { scaledRuns } from "../testing/store-samples.ts";
import { approvalDigest } from "./record.ts";

/*
 * Calls, people, standing grants, clocks, policies and crashes in random order, over one store and several lives of the
 * engine. Whatever happens: a call runs at most once, and only by a live approval of exactly what it ran with, or by a
 * live grant of exactly its arguments.
 */

const CALLER = { tenant: "acme", agent: "agent" };
const HOUR = 3_600_000;

const nth = fc.nat(5);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("call" as const), n: fc.constantFrom(1, 2) }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constantFrom("approve", "approve", "always", "edit", "deny", "resume", "resume", "twice"),
      nth,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("revoke" as const), nth }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("crash" as const), after: fc.nat(3), nth }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("time" as const), hours: fc.constantFrom(1, 5, 30) }) },
  { weight: 1, arbitrary: fc.constant({ do: "policy" as const }) },
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

interface Run {
  callId: string;
  input: JsonValue;
  policyVersion: string;
  /** A live grant allowed exactly these arguments when it ran. */
  isGranted: boolean;
}

interface World {
  store: Store;
  key: Buffer;
  now: number;
  policy: number;
  runs: Run[];
  engine: Engine;
  /** Commits the present engine may still make; then it is dead, as a killed process is. */
  life: { left: number };
}

/** A store whose user dies after so many commits: nothing it does afterwards arrives, and nothing answers it. */
function mortal(store: Store, life: World["life"]): Store {
  const mapped = mapMethods(store, (method) => method);
  const commit: Store["commit"] = async (unit) => {
    if (life.left <= 0) return await new Promise<never>(() => undefined);
    life.left -= 1;
    return await store.commit(unit);
  };
  return { ...mapped, commit, close: async () => undefined };
}

/** Begins a life of the engine. */
async function begin(given: Omit<World, "engine" | "life">): Promise<World> {
  const world = given as World;
  world.life = { left: Number.POSITIVE_INFINITY };
  const signer = hmacSigner(world.key);
  const grantIndex = new GrantIndex(signer);
  const asks = { outcome: "ask" as const, reason: "ask", rules: ["ask"], tier: "operator" as const };
  const authority = new ConfiguredAuthority({
    grants: [{ id: "all", tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"], capabilities: [] }],
    policies: [{ name: "asks", decide: () => ({ ...asks, policyVersion: `v${world.policy}` }) }],
    grantIndex,
  });
  const store = mortal(world.store, world.life);
  const clock = { now: () => world.now };
  await crashed(world.store);
  const limits = { storeMs: 20 };
  world.engine = await createEngine({ store, authority, signer, grantIndex, clock, limits });
  const { manifest, implementation } = fixtureTool({
    id: "pay",
    conduct: { sideEffects: "external" },
    run: async (input: JsonValue, { callId }) => {
      const policyVersion = `v${world.policy}`;
      world.runs.push({ callId, input, policyVersion, isGranted: await isGranted(world, input) });
      return null;
    },
  });
  await world.engine.tools.register(manifest, { implementation, keep: false });
  await world.engine.recover();
  return world;
}

async function isGranted({ store, now }: World, input: JsonValue): Promise<boolean> {
  return (await store.grants.changedSince()).changed.some(
    (grant) =>
      grant.kind === "standing" &&
      grant.revokedAt === undefined &&
      (grant.expiresAt ?? Number.POSITIVE_INFINITY) > now &&
      grant.arguments.every(({ match }) => JSON.stringify(match.equals) === JSON.stringify(input)),
  );
}

async function take(world: World, step: Step): Promise<void> {
  const { engine, store } = world;
  if (step.do === "policy") {
    world.policy += 1;
  } else if ("hours" in step) {
    world.now += step.hours * HOUR;
    await engine.approvals.expireDue();
  } else if ("n" in step) {
    await engine.call({ tool: "pay", input: { n: step.n }, caller: CALLER });
  } else if (step.do === "revoke") {
    const chosen = pick((await store.grants.changedSince()).changed, step);
    if (chosen) await engine.grants.revoke(chosen.grantId, { by: "ada", reason: "over" });
  } else {
    const chosen = pick(await store.approvals.list({ limit: 100 }), step);
    if (chosen && "after" in step) {
      world.life.left = step.after;
      await engine.resume(chosen.callId);
      await begin(world);
    } else if (chosen) await answer(world, chosen, step.do);
  }
}

function pick<Item>(items: readonly Item[], step: object): Item | undefined {
  return "nth" in step ? items[Number(step.nth) % Math.max(1, items.length)] : undefined;
}

async function answer({ engine, now }: World, { approvalId, callId }: ApprovalRecord, how: string) {
  const by = "ada";
  const { approvals } = engine;
  const scope = { arguments: "exact", agent: "this", tier: "operator", until: now + 4 * HOUR } as const;
  if (how === "approve") await approvals.approve(approvalId, { by });
  if (how === "always") await approvals.approve(approvalId, { by, always: scope });
  if (how === "edit") await approvals.edit(approvalId, { by, input: { n: 7 } });
  if (how === "resume") await engine.resume(callId);
  const deny = () => approvals.deny(approvalId, { by, reason: "no" });
  if (how === "deny") await deny();
  if (how === "twice") await Promise.all([engine.resume(callId), engine.resume(callId), deny()]);
}

/** Each run is the only one of its call, and rests on what the store says. */
async function check({ store, runs }: World): Promise<void> {
  expect(new Set(runs.map(({ callId }) => callId)).size).toBe(runs.length);
  const approvals = await store.approvals.list({ limit: 1_000 });
  for (const { callId, input, policyVersion, isGranted } of runs) {
    const spent = approvals.filter((each) => each.callId === callId && each.standing.state === "consumed");
    expect(spent.length).toBe(isGranted ? Math.min(1, spent.length) : 1);
    const [approval] = spent;
    if (!approval) continue;
    const inputHash = hash("sha256", canonicalJson(input));
    const digest = approvalDigest({ ...approval, ...CALLER, inputHash });
    expect(approval.digest).toBe(digest);
    expect(approval.policyVersion.split(/\W/)).toContain(policyVersion);
    expect(approval.votes).toMatchObject([{ by: "ada", digest }]);
  }
}

/** Every call has an end: it waits with a question that can be answered, or it has a verdict. */
async function checkAnswerable({ store, engine, runs }: World): Promise<void> {
  const waiting = (await store.calls.list({ phase: "waiting", limit: 1_000 })).map(({ callId }) => callId);
  for (const callId of waiting) {
    expect(await store.approvals.ofCall(callId)).toBeDefined();
    const resumed = await engine.resume(callId);
    expect(isFailure(resumed) ? resumed.code : "answered").toBe("answered");
  }
  for (const { callId } of runs) {
    expect((await store.calls.get(callId))?.phase).toMatch(/closed|unknown/);
  }
}

describe("approvals and grants under random interleavings", () => {
  it("let a call run at most once, only by a live approval or grant of exactly what it is [FR-APR-03] [R3-3]", async () => {
    let ran = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 35 }), async (steps) => {
        const clock = { now: () => start.now };
        const key = randomBytes(32);
        const now = Date.UTC(2026, 0, 1);
        const start = { store: createMemoryStore({ clock }), key, now, policy: 1, runs: [] };
        const world = await begin(start);
        for (const each of steps) {
          await take(world, each);
          await check(world);
        }
        ran += world.runs.length;
        await checkAnswerable(world);
      }),
      { numRuns: scaledRuns(60) },
    );
    // A model in which nothing ever runs would prove nothing.
    expect(ran).toBeGreaterThan(10);
  }, 120_000);
});
