import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep, setImmediate as tick } from "node:timers/promises";
import type { CallAnswer } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { MemoryBus } from "../memory/platform.ts";
import { createMemoryStore } from "../memory/store.ts";
import { FaultPlan, type FaultRule, withFaults } from "../testing/faults.ts";
import { type Fixture, fixtureEngine } from "../testing/fixture-engine.ts";
import { scaledRuns } from "../testing/store-samples.ts";
import type { Cancellation } from "./call-status.ts";

const caller = { tenant: "acme", agent: "agent" };
const cancelling = new AsyncLocalStorage<{ steps: number }>();

/** Holds store methods until a promise resolves: which ones, `gate` says. */
class GatePlan extends FaultPlan {
  gate: () => Promise<void> | undefined = () => undefined;
  #held: Promise<void> | undefined;

  override enter(method: string): FaultRule[] {
    this.#held = this.gate();
    return this.#held ? [{ method, when: "before", action: { kind: "hang" } }] : [];
  }

  override hang(): Promise<void> {
    return this.#held ?? Promise.resolve();
  }
}

interface Race extends Fixture {
  bus: MemoryBus;
  plan: GatePlan;
  runs: string[];
}

async function race(run: () => unknown = () => tick()): Promise<Race> {
  const plan = new GatePlan();
  const runs: string[] = [];
  const bus = new MemoryBus();
  const fixture = await fixtureEngine({ store: withFaults(createMemoryStore(), plan), bus });
  await fixture.add({
    id: "t",
    run: async (_, { callId }) => {
      runs.push(callId);
      await run();
      return 1;
    },
  });
  await fixture.engine.claimQueued();
  return { ...fixture, bus, plan, runs };
}

async function ended({ engine }: Race, callId: string): Promise<CallAnswer> {
  for (let look = 0; look < 4_000; look += 1) {
    const standing = await engine.standing(callId);
    if (standing && "answer" in standing) return standing.answer;
    await sleep(2);
  }
  throw new Error(`${callId} has not ended`);
}

/** What holds after every race: the word given, the answer on record and what ran agree. */
async function agrees(race: Race, callId: string, said: Cancellation | undefined): Promise<void> {
  const { status } = await ended(race, callId);
  expect({ cancelled: said?.cancelled, status }).toEqual(
    said?.cancelled ? { cancelled: true, status: "cancelled" } : { cancelled: false, status: "success" },
  );
  if (said?.message === "Cancelled before it ran.") expect(race.runs).not.toContain(callId);
}

/** The cancel stops at its step until the approval is given; the call then goes so many steps ahead before the cancel goes on. */
async function met(kind: Kind, { step, ahead }: { step: number; ahead: number }): Promise<string> {
  const here = await race();
  const callId = `c-${step}-${ahead}`;
  const approvalId = await asked(here, callId, kind);
  const approved = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let left = Number.POSITIVE_INFINITY;
  here.plan.gate = () => {
    const own = cancelling.getStore();
    if (own) return ++own.steps === step ? approved.promise : undefined;
    return --left < 0 ? answered.promise : undefined;
  };
  const saying = cancelling.run({ steps: 0 }, () => here.engine.cancelCall(callId, { reason: "no" }));
  const stop = here.bus.subscribe("approvals:updates", ({ state }) => {
    if (state === "approved") left = ahead;
  });
  await Promise.race([here.engine.approvals.approve(approvalId, { by: "eve" }), saying]);
  for (let turn = 0; turn < 3; turn += 1) await tick();
  approved.resolve();
  await Promise.race([saying, sleep(20)]);
  answered.resolve();
  const said = await saying;
  await agrees(here, callId, said);
  stop();
  await here.engine.close();
  return `${said?.cancelled} ${here.runs.includes(callId) ? "after" : "before"}`;
}

type Kind = "accepted" | "waiting" | "unattended";

const ASKED = { tool: "t", input: {}, caller, requireApproval: true };

/** Asks for a call that a person has to approve, in one of the ways it can be asked for. */
async function asked({ engine, store }: Race, callId: string, kind: Kind) {
  const request = { ...ASKED, callId };
  const answer =
    kind === "accepted"
      ? engine.accept(request)
      : engine.call({ ...request, ...(kind === "waiting" ? { onApproval: "wait" } : { unattended: true }) });
  answer.catch(() => undefined);
  for (;;) {
    const approval = await store.approvals.ofCall(callId);
    if (approval) return approval.approvalId;
    await tick();
  }
}

describe("a cancel that meets an approval", () => {
  it.each(["accepted", "waiting", "unattended"] as const)(
    "says cancelled only of a call that cannot run any more, wherever the approval falls between its steps: %s [L3-API-2]",
    async (kind) => {
      const said = new Set<string>();
      for (let step = 1; step <= 4; step += 1)
        for (let ahead = 0; ahead <= 12; ahead += 1) said.add(await met(kind, { step, ahead }));
      expect([...said].sort()).toContain("true before");
    },
  );

  it("says so under random interleavings, too", async () => {
    const seed = Number(process.env.SALLYPORT_SEED ?? 1);
    let state = seed;
    const random = () => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return state / 2_147_483_648;
    };
    const turns = async (most: number) => {
      for (let left = Math.floor(random() * most); left > 0; left -= 1) await tick();
    };
    const here = await race(() => turns(4));
    const seen = new Set<string>();
    for (let round = 0; round < scaledRuns(100); round += 1) {
      const callId = `r-${round}`;
      here.plan.gate = () => undefined;
      const approvalId = await asked(here, callId, "accepted");
      here.plan.gate = () => turns(4);
      const approving = turns(10).then(() => here.engine.approvals.approve(approvalId, { by: "eve" }));
      const said = await turns(30).then(() => here.engine.cancelCall(callId, { reason: "no" }));
      await approving;
      await agrees(here, callId, said).catch((error: unknown) => {
        throw new Error(`seed ${seed}, round ${round}`, { cause: error });
      });
      seen.add(`${said?.cancelled} ${said?.status}`);
    }
    expect(seen.size, [...seen].join(", ")).toBeGreaterThan(1);
    await here.engine.close();
  });
});

describe("a cancel that meets the end of a call", () => {
  it("is too late once the outcome is being recorded, and says so", async () => {
    const here = await race();
    const held = Promise.withResolvers<void>();
    const running = here.call("t", {}, { callId: "late" });
    here.plan.gate = () => (here.runs.length > 0 ? held.promise : undefined);
    while (here.runs.length === 0) await tick();
    for (let turn = 0; turn < 10; turn += 1) await tick();
    here.plan.gate = () => undefined;
    const said = here.engine.cancelCall("late", { reason: "no" });
    await tick();
    held.resolve();
    expect(await said).toMatchObject({ cancelled: false });
    expect((await running).status).toBe("success");
    await here.engine.close();
  });

  it("undoes what a tool gives after it was cancelled", async () => {
    const go = Promise.withResolvers<void>();
    const here = await race(() => go.promise);
    const running = here.call("t", {}, { callId: "deaf" });
    while (here.runs.length === 0) await tick();
    go.resolve();
    expect(await here.engine.cancelCall("deaf", { reason: "no" })).toMatchObject({ cancelled: true });
    expect((await running).status).toBe("cancelled");
    await here.engine.close();
  });
});
