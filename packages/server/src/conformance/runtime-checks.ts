import { isDeepStrictEqual } from "node:util";
import { grantAuthority } from "@sallyport/engine";
import type { Authority } from "@sallyport/engine/ports";
import {
  type CallAnswer,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type LifecycleState,
} from "@sallyport/protocol";
import type { Checklist, Expect } from "./check.ts";
import {
  codeOf,
  type EngineFactory,
  endOf,
  grantFor,
  lastStateOf,
  openProbeEngine,
  PROBER,
  type ProbeEngine,
  statesOf,
} from "./probe-engine.ts";
import { countedTool, probe, smallTool } from "./probe-tool.ts";

/** The eight checks of the runtime, by real calls on private engines. */
export const RUNTIME_CHECKS: Checklist<EngineFactory> = {
  section: "runtime",
  checks: [
    ["9.2.1", "checks an input before the tool runs", validatesInputs],
    ["9.2.2", "asks for permission before the tool runs", authorisesFirst],
    ["9.2.3", "holds a running tool to its limits", enforcesLimits],
    ["9.2.4", "checks a result before anybody gets it", validatesOutputs],
    ["9.2.5", "leaves an audit event for every transition", auditsEverything],
    ["9.2.6", "measures everything that must be measured", emitsTelemetry],
    ["9.2.7", "undoes what a failed call did", rollsBack],
    ["9.2.8", "never lets calls corrupt state", neverCorrupts],
  ],
};

const WRONG_INPUTS = {
  "a wrong type": { value: "one" },
  "a missing property": {},
  "an unknown property": { value: 1, more: true },
  "something that is not JSON": () => 1,
};

/** Gives a tool inputs that its schema forbids: it must not run, and nobody may be asked for permission. */
async function validatesInputs(make: EngineFactory, expect: Expect): Promise<string> {
  const grants = grantAuthority([grantFor(["*"], [])]);
  let asked = 0;
  const decide: Authority["decide"] = (request) => {
    asked += 1;
    return grants.decide(request);
  };
  await using engine = await openProbeEngine(make, { authority: { decide } });
  const { tool, runs } = countedTool();
  await engine.register(tool);
  for (const [what, input] of Object.entries(WRONG_INPUTS)) {
    const answer = await engine.call(tool, "run", { input });
    expect(lastStateOf(answer) === "FAILED", `${what} ended with ${endOf(answer)}`);
  }
  expect(runs() === 0, `the tool ran ${runs()} times on wrong inputs`);
  expect(asked === 0, `permission was asked ${asked} times before the input was checked`);
  const right = await engine.call(tool, "run", { input: { value: 1 } });
  expect(right.status === "success" && runs() === 1, `a right input ended with ${endOf(right)}`);
  return "4 wrong inputs ended FAILED, the tool never ran; a right one did";
}

/** Calls a tool without a grant and with too little of one: it must not run. */
async function authorisesFirst(make: EngineFactory, expect: Expect): Promise<string> {
  const needed = "conformance.probe";
  const authority = grantAuthority([
    { ...grantFor(["granted"], [needed]), id: "whole" },
    { ...grantFor(["half-granted"], ["conformance.other"]), id: "half" },
  ]);
  await using engine = await openProbeEngine(make, { authority });
  const { tool, runs } = countedTool([needed]);
  await engine.register(tool);
  const callAs = (agent: string) =>
    engine.call(tool, "run", { input: { value: 1 }, caller: { ...PROBER, agent } });
  for (const agent of ["stranger", "half-granted"]) {
    const answer = await callAs(agent);
    const denied = lastStateOf(answer) === "DENIED" && answer.status === "permission_denied";
    expect(denied, `the ${agent} agent got ${endOf(answer)}`);
  }
  expect(runs() === 0, `the tool ran ${runs()} times without its capability`);
  const granted = await callAs("granted");
  expect(granted.status === "success" && runs() === 1, `the granted agent got ${endOf(granted)}`);
  return "without a grant and without the capability: DENIED, not run; with both: run";
}

const DEADLINE_MS = 60;
/** How much later than its deadline a call may end before the deadline counts as not kept; a busy host needs much. */
const SLACK_MS = 5_000;

/** Lets a probe pass its deadline, its memory and its output limit; each must end it. */
async function enforcesLimits(make: EngineFactory, expect: Expect): Promise<string> {
  const limits = { timeoutMs: DEADLINE_MS };
  const expectAborted = (answer: CallAnswer, what: string, code: string) => {
    const aborted = statesOf(answer).includes("ABORTED") && lastStateOf(answer) === "ROLLED_BACK";
    expect(aborted && codeOf(answer) === code, `${what} ended with ${endOf(answer)}`);
    const inTime = code !== "E3103" || answer.usage.durationMs < DEADLINE_MS + SLACK_MS;
    expect(inTime, `${what} held on for ${answer.usage.durationMs} ms`);
  };
  await using inline = await openProbeEngine(make);
  const late = await inline.probe("linger", { limits });
  expectAborted(late, "a tool that never answers", "E3103");
  const large = await inline.probe("overflow");
  expect(codeOf(large) === "E3509", `an output over its limit ended with ${endOf(large)}`);

  await using thread = await openProbeEngine(make, { runner: "thread" });
  const warm = await thread.probe("answer");
  expect(warm.status === "success", `a thread could not be used: ${endOf(warm)}`);
  const stuck = await thread.probe("spin", { limits });
  expectAborted(stuck, "a tool in an endless loop", "E3103");
  const greedy = await thread.probe("hoard");
  expectAborted(greedy, "a tool over its memory", "E3102");
  return [
    `a waiting tool was ended after ${late.usage.durationMs} ms, its limit being ${DEADLINE_MS}`,
    `an endless loop after ${stuck.usage.durationMs} ms`,
    `a hoarder at ${Math.round(greedy.usage.memoryPeakBytes / 2 ** 20)} MiB of 64`,
  ].join("; ");
}

/** Lets a probe answer what it did not promise, after a change: neither the answer nor the change may get through. */
async function validatesOutputs(make: EngineFactory, expect: Expect): Promise<string> {
  await using engine = await openProbeEngine(make);
  const right = await engine.probe("keep");
  const before = await engine.stateOf();
  const wrong = await engine.probe("changeThenLie");
  expect(right.status === "success", `a right output ended with ${endOf(right)}`);
  expect(codeOf(wrong) === "E3501", `a wrong output ended with ${endOf(wrong)}`);
  expect(lastStateOf(wrong) === "ROLLED_BACK", "a wrong output did not roll the call back");
  const isAsBefore = isDeepStrictEqual(await engine.stateOf(), before);
  expect(isAsBefore, "the change before a wrong output was kept");
  return `a wrong output: ${endOf(wrong)}, its change dropped; a right one got through`;
}

/** Lets everybody but the stranger call the probe, so that a call can also end in DENIED. */
const ALL_BUT_STRANGERS = grantAuthority([grantFor([PROBER.agent])]);

/** One call to each ending: COMPLETED, FAILED, DENIED, ROLLED_BACK, and ABORTED before that. */
async function everyEnding(engine: ProbeEngine): Promise<CallAnswer[]> {
  return [
    await engine.probe("keep"),
    await engine.probe("keep", { input: { unknown: true } }),
    await engine.probe("keep", { caller: { ...PROBER, agent: "stranger" } }),
    await engine.probe("changeThenThrow"),
    await engine.probe("linger", { limits: { timeoutMs: 20 } }),
  ];
}

type Test = (value: JsonValue | undefined) => boolean;

const isText: Test = (value) => typeof value === "string" && value !== "";
const isDigest: Test = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

/** What every event must say (R1-8.1), whatever the state. */
const EVENT_FIELDS: Record<string, Test> = {
  eventId: isText,
  timestamp: (value) => typeof value === "number" && value > 0,
  toolId: (value) => value === probe.manifest.id,
  toolVersion: (value) => value === probe.manifest.version,
  executionId: isText,
  state: isText,
  userId: (value) => value === PROBER.user,
  capabilities: Array.isArray,
  inputHash: isDigest,
};

/** Takes calls to every ending there is; each state must have left a whole event in an intact chain. */
async function auditsEverything(make: EngineFactory, expect: Expect): Promise<string> {
  await using engine = await openProbeEngine(make, { authority: ALL_BUT_STRANGERS });
  const recorded: JsonObject[] = [];
  for (const answer of await everyEnding(engine)) {
    const events = await engine.eventsOf(answer);
    expectRecorded(expect, answer, events);
    recorded.push(...events);
  }
  expect(new Set(recorded.map(({ eventId }) => eventId)).size === recorded.length, "two events share an id");
  const { findings, events } = await engine.checkChain();
  expect(findings.length === 0, `the chain is broken: ${findings[0]?.message}`);
  return `${recorded.length} transitions on record with every field; chain of ${events} events intact`;
}

/** Every state has its event. The last one carries the outcome, and the receipt points into the chain. */
function expectRecorded(expect: Expect, answer: CallAnswer, events: JsonObject[]): void {
  const entered = statesOf(answer);
  const recorded = events.map(({ state }) => state);
  const missing = `of ${entered.join(", ")} only ${recorded.join(", ") || "nothing"} is on record`;
  expect(isDeepStrictEqual(recorded, entered), missing);
  for (const event of events) {
    for (const [field, isRight] of Object.entries(EVENT_FIELDS)) {
      expect(isRight(event[field]), `${String(event.state)} says nothing usable about ${field}`);
    }
  }
  const { state, outputHash, duration, capabilities, error } = events.at(-1) ?? {};
  if (answer.status === "success") {
    const granted = [...probe.manifest.requiredCapabilities];
    expect(isDigest(outputHash), `${state} has no hash of the output`);
    expect(typeof duration === "number", `${state} has no duration`);
    expect(isDeepStrictEqual(capabilities, granted), `${state} does not say what was granted`);
  } else {
    const isNamed = isJsonObject(error) && error.code === answer.error.code;
    expect(isNamed, `${state} does not say what went wrong`);
  }
  expect(answer.receipt !== undefined, `the answer of ${state} has no receipt`);
}

const TOOL = { tool_id: probe.manifest.id };

/** Takes calls to every ending and to a thread; each required reading must have reached the meter (R1-8.2, R1-8.3). */
async function emitsTelemetry(make: EngineFactory, expect: Expect): Promise<string> {
  await using engine = await openProbeEngine(make, { authority: ALL_BUT_STRANGERS });
  const answers = await everyEnding(engine);
  engine.flush();
  for (const [what, seen, due] of expectedCounts(engine, answers)) {
    expect(seen === due, `${what}: ${seen} counted, ${due} happened`);
  }
  const { count, p50, p95, p99 } = engine.meter.summary("tool_execution_duration_seconds", TOOL);
  expect(count === answers.length && p99 > 0, "durations: no percentiles");
  expect(p50 <= p95 && p95 <= p99, "durations: percentiles out of order");

  await using thread = await openProbeEngine(make, { runner: "thread" });
  await thread.probe("answer");
  thread.flush();
  const written = thread.meter.summary("tool_io_bytes", { ...TOOL, direction: "out" });
  expect(thread.meter.summary("tool_cpu_seconds", TOOL).count > 0, "no processor time of a call in a thread");
  expect(thread.meter.summary("tool_memory_peak_bytes", TOOL).count > 0, "no memory of a call in a thread");
  expect(written.count > 0 && written.sum > 0, "no I/O of a call in a thread");
  return [
    `executions, endings, transitions, decisions, denials, rollbacks and durations of ${answers.length} calls counted`,
    "processor time, memory and I/O of a call in a thread measured",
  ].join("; ");
}

function expectedCounts(
  { meter }: ProbeEngine,
  answers: CallAnswer[],
): [string, seen: number, due: number][] {
  const failed = answers.filter(({ status }) => status !== "success").length;
  const entered = answers.flatMap(statesOf);
  const times = (state: LifecycleState) => entered.filter((each) => each === state).length;
  const succeeded = { ...TOOL, status: "success" };
  const refused = (code: string) => meter.total("tool_failures_total", { code });
  return [
    ["executions", meter.total("tool_invocations_total", TOOL), answers.length],
    ["successes", meter.total("tool_invocations_total", succeeded), 1],
    ["failures", meter.total("tool_failures_total", TOOL), failed],
    ["validation failures", refused("E3901"), times("FAILED")],
    ["limit violations", refused("E3103"), times("ABORTED")],
    ["denials", meter.total("capability_denials_total"), times("DENIED")],
    ["decisions", meter.total("permission_checks_total"), times("VALIDATED")],
    ["rollbacks", meter.total("tool_rollbacks_total", TOOL), times("ROLLED_BACK")],
    ...[...new Set(entered)].map((state): [string, number, number] => {
      return [
        `transitions to ${state}`,
        meter.total("tool_lifecycle_transitions_total", { state }),
        times(state),
      ];
    }),
  ];
}

/** Lets a probe change state and fail: all of it must be undone, and its slot given back. */
async function rollsBack(make: EngineFactory, expect: Expect): Promise<string> {
  // Room for one call and for none that waits: a slot that is not given back stops the next call.
  await using engine = await openProbeEngine(make, { admission: { total: 1, queue: 0 } });
  await engine.probe("keep");
  const before = await engine.stateOf();
  const answer = await engine.probe("changeThenThrow");
  expect(Object.keys(before).length > 0, "nothing was there to be restored");
  expect(isDeepStrictEqual(await engine.stateOf(), before), "the state is not as it was");
  expect(answer.rollback?.verified === true, "the rollback is not verified");
  expect(lastStateOf(answer) === "ROLLED_BACK", `the call ended with ${endOf(answer)}`);
  expect(answer.status !== "success" && answer.error.message !== "", "there is no structured error");
  const isRecorded = (await engine.eventsOf(answer)).some(({ state }) => state === "ROLLED_BACK");
  expect(isRecorded, "no audit event tells of the rollback");
  const next = await engine.probe("answer");
  expect(next.status === "success", `its place was not given back: the next call got ${endOf(next)}`);
  const dropped = answer.rollback?.discardedMutations;
  return `${dropped} changes dropped, state equal to before and verified, place given back`;
}

const AT_ONCE = 20;

/** Lets two calls read the same value and write it, then many at once: no change may be lost or made up. */
async function neverCorrupts(make: EngineFactory, expect: Expect): Promise<string> {
  await using engine = await openProbeEngine(make, { admission: { perAgent: AT_ONCE } });
  const two = counter("rivals", barrier(2));
  await engine.register(two);
  const rivals = await Promise.all([engine.call(two), engine.call(two)]);
  const won = rivals.filter(({ status }) => status === "success");
  const lost = rivals.filter((answer) => codeOf(answer) === "E3704");
  expect(won.length === 1 && lost.length === 1, `two rivals got ${rivals.map(endOf).join(" and ")}`);
  const isUndone = lost.every(({ rollback }) => rollback?.verified === true);
  expect(isUndone, "the rival that lost was not rolled back");
  expect((await engine.stateOf(two)).n === 1, "the value two rivals wrote is not the winner's");

  const many = counter("rush", async () => undefined);
  await engine.register(many);
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => engine.call(many)));
  const counted = answers.filter(({ status }) => status === "success").length;
  const { n } = await engine.stateOf(many);
  const mismatch = `${counted} of ${AT_ONCE} calls at once counted, the counter says ${String(n)}`;
  expect(counted > 0 && n === counted, mismatch);

  const { findings } = await engine.checkChain();
  expect(findings.length === 0, "the audit chain broke under calls at once");
  return `of two calls that wrote the same value one was kept, one rolled back; ${counted} of ${AT_ONCE} at once succeeded and the counter says ${String(n)}`;
}

/** A tool that reads, waits for the others and counts one more. */
function counter(name: string, wait: () => Promise<void>) {
  return smallTool(name, ["state.read", "state.write"], async (_input, { state }) => {
    const value = Number((await state.get("n")) ?? 0) + 1;
    await wait();
    await state.put("n", value);
    return { value };
  });
}

/** Holds everybody until all are there, so that each has read before anybody writes. */
function barrier(size: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let present = 0;
  return async () => {
    present += 1;
    if (present === size) resolve();
    await promise;
  };
}
