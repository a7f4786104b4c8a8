import type { CallAnswer, JsonValue } from "@sallyport/protocol";
import { isTerminal } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../admin/compose.ts";
import { createInlineRunner } from "../execute/index.ts";
import { MemoryMeter } from "../memory/meter.ts";
import { MemoryBus, RecentErrors, systemClock, uuidV7 } from "../memory/platform.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { ToolContext } from "../ports/runner.ts";
import { FaultPlan, type FaultPoint, type FaultRule, withFaults } from "../testing/faults.ts";
import { auditOf, EVERYTHING_GRANTED, fixtureEngine, statesOf } from "../testing/fixture-engine.ts";
import { STRICT_RESULT } from "../validate/index.ts";

/** Everything an engine is given that can throw, but for the store. */
function collaborators() {
  return {
    clock: { now: () => systemClock.now() },
    ids: uuidV7(() => systemClock.now()),
    authority: EVERYTHING_GRANTED,
    bus: new MemoryBus(),
    meter: new MemoryMeter(),
    errors: new RecentErrors(),
    hooks: { before: () => undefined, after: () => undefined },
    runner: createInlineRunner(),
    step: { apply: (draft: Parameters<(typeof STRICT_RESULT)[0]["apply"]>[0]) => draft },
    rules: { of: () => ({}) },
  };
}

const TOOLS = [
  { id: "look", run: () => ({ seen: true }) },
  {
    id: "count",
    run: async (_: unknown, { state }: ToolContext) => {
      await state.put("n", Number((await state.get("n")) ?? 0) + 1);
      return 1;
    },
    conduct: { sideEffects: "state", requiredCapabilities: ["state.read", "state.write"] },
  },
  { id: "pay", run: () => 1, conduct: { sideEffects: "external" } },
];

async function called(tool: string, rules: FaultRule[]) {
  const store = createMemoryStore();
  const plan = new FaultPlan(rules);
  const faulty = withFaults(collaborators(), plan);
  const { authority, bus, clock, ids, meter, errors, hooks } = faulty;
  const options: Partial<EngineOptions> = {
    ...{ store, authority, bus, clock, ids, meter, errors },
    hooks: [{ name: "hook", before: () => hooks.before(), after: () => hooks.after() }],
    runners: [
      {
        kind: "inline",
        isolation: { level: "LEVEL_0", runner: "inline" },
        run: faulty.runner.run,
        close: async () => undefined,
      },
    ],
    resultSteps: [...STRICT_RESULT, { name: "step", apply: (draft) => faulty.step.apply(draft) }],
    toolRules: () => faulty.rules.of(),
  };
  const fixture = await fixtureEngine(options, TOOLS);
  const from = plan.seen.length;
  const order = { callId: "c", idempotencyKey: "k" };
  const answer = await fixture.call(tool, {}, order);
  const points: FaultPoint[] = plan.seen.slice(from);
  const again = await fixture.call(tool, {}, { idempotencyKey: "k" });
  await fixture.engine.close();
  return { answer, again, store, points };
}

const thrown = { kind: "throw", error: new RangeError("Maximum call stack size exceeded") } as const;

/** Journal, audit and answer tell the same end; a key that was spent gives it again. */
async function isWhole(
  { answer, again, store }: Awaited<ReturnType<typeof called>>,
  at: string,
): Promise<void> {
  const record = await store.calls.get("c");
  const events = (await auditOf(store)).filter(({ callId }) => callId === "c");
  const last = events
    .map(({ state }) => String(state))
    .filter((state) => !state.startsWith("SANDBOX"))
    .at(-1);
  if (statesOf(answer).length === 0) {
    expect(answer.status, at).toBe("error");
    expect(record, at).toBeUndefined();
    return;
  }
  expect(record?.phase, at).toBe("closed");
  expect(record?.closing?.answer.status, at).toBe(answer.status);
  expect(codeOf(record?.closing?.answer), at).toBe(codeOf(answer));
  expect([last, isTerminal(statesOf(answer).at(-1) as never)], at).toEqual([statesOf(answer).at(-1), true]);
  expect(new Set(events.map(({ eventId }) => eventId)).size, at).toBe(events.length);
  if (again.replayed) expect({ ...again, replayed: false }, at).toEqual(answer);
  else expect(again.status, at).toBe("success");
}

function codeOf(answer: CallAnswer | undefined): JsonValue {
  return answer && answer.status !== "success" ? answer.error.code : "";
}

describe("whatever throws once while a call is under way", () => {
  it.each(["look", "count", "pay"])(
    "ends %s inside its lifecycle: journal closed, event written, answer given [R1-4.4] [R1-3]",
    async (tool) => {
      const { points } = await called(tool, []);
      expect(new Set(points.map(({ method }) => method.split(".")[0])).size).toBeGreaterThan(5);
      for (const { method, nth } of points) {
        const at = `${tool}: ${method} #${nth}`;
        await isWhole(await called(tool, [{ method, nth, when: "before", action: thrown }]), at);
      }
    },
  );
});

/** Deeper than `structuredClone` goes, and not too deep for JSON. */
const DEEP = 3_500;

describe("an answer on record", () => {
  it("is given again however deep its result is [L3-API-1]", async () => {
    const output: JsonValue = Array.from({ length: DEEP }).reduce<JsonValue>((inner) => [inner], 0);
    const limits = { input: { maxBytes: 1e6, maxDepth: 1e4, maxValues: 1e5 } };
    const isolation = { level: "LEVEL_0", runner: "inline" } as const;
    const run = async () => ({ ok: true as const, output, usage: { cpuMs: 0, memoryPeakBytes: 0 } });
    const runners = [{ kind: "inline", isolation, run, close: async () => undefined }];
    const { call } = await fixtureEngine({ limits, runners }, [{ id: "deep", run: () => null }]);
    const order = { idempotencyKey: "k" };
    const [one, two, shared] = await Promise.all([
      call("deep", {}),
      call("deep", {}, order),
      call("deep", {}, order),
    ]);
    const later = await call("deep", {}, order);
    const isDeep = ({ status, result }: { status: string; result?: JsonValue }) =>
      status === "success" && JSON.stringify(result).length === 2 * DEEP + 1;
    expect([one, two, shared, later].map((answer) => isDeep(answer))).toEqual([true, true, true, true]);
    expect([two, shared, later].filter(({ replayed }) => replayed)).toHaveLength(2);
  });
});
