import { isDeepStrictEqual } from "node:util";
import type { EngineOptions } from "@sallyport/engine";
import type { Authority, ErrorHandler, Meter } from "@sallyport/engine/ports";
import type { JsonObject, JsonValue } from "@sallyport/protocol";
import type { Checklist, Expect } from "./check.ts";
import {
  codeOf,
  type EngineFactory,
  endOf,
  hasStack,
  lastStateOf,
  openProbeEngine,
  PROBER,
  type ProbeEngine,
} from "./probe-engine.ts";
import { countedTool, smallTool } from "./probe-tool.ts";

/** What the checks are made with: an engine, and the parts of the configuration they speak for. */
export interface IntegrationContext {
  make: EngineFactory;
  /** The configured authority, which must deny what nobody gave; left out, only the probes' authority is asked. */
  authority?: Authority;
  /** The configured sandbox and the runners that use it; left out, the check does not pass. */
  sandbox?: Required<Pick<EngineOptions, "isolation" | "runners">>;
}

/** The five checks of what the runtime is joined to, by real calls on private engines. */
export const INTEGRATION_CHECKS: Checklist<IntegrationContext> = {
  section: "integration",
  checks: [
    ["9.3.1", "the transaction is in force", transactionIsActive],
    ["9.3.2", "the error handler is in force", errorHandlerIsActive],
    ["9.3.3", "telemetry is in force", telemetryIsActive],
    ["9.3.4", "the capability system is in force", capabilitySystemIsActive],
    ["9.3.5", "a sandbox is in force", sandboxIsActive],
  ],
};

/** Looks into the store while a call changes state and after it: the change must be the call's alone until it ends. */
async function transactionIsActive({ make }: IntegrationContext, expect: Expect): Promise<string> {
  await using engine = await openProbeEngine(make);
  let own: JsonValue | undefined;
  let outside: JsonObject | undefined;
  const tool = smallTool("watched", ["state.read", "state.write"], async (_input, { state }) => {
    await state.put("n", 1);
    own = await state.get("n");
    outside = await engine.stateOf(tool);
    return { value: 1 };
  });
  await engine.register(tool);
  const answer = await engine.call(tool);
  const kept = await engine.stateOf(tool);
  const scope = { tenant: PROBER.tenant, tool: tool.manifest.id };
  const written = await engine.store.state.writtenBy(scope, answer.callId);
  expect(answer.status === "success", `the probe ended with ${endOf(answer)}`);
  expect(own === 1, "the running call did not see its own change");
  expect(isDeepStrictEqual(outside, {}), "the change was in the store before the call had ended");
  expect(isDeepStrictEqual(kept, { n: 1 }), "the change was not kept when the call ended");
  expect(written === 1, "the store does not know whose change it is");
  return "a change was the call's alone while it ran and was kept, under its id, when it ended";
}

const THROWING_AUTHORITY: Authority = {
  decide() {
    throw new Error("probe: the authority is lost");
  },
};

const THROWING_HANDLER: ErrorHandler = {
  report() {
    throw new Error("probe: the error handler is broken");
  },
};

/** Lets a tool and the authority throw: both must reach the handler, and a handler that throws must harm nobody. */
async function errorHandlerIsActive({ make }: IntegrationContext, expect: Expect): Promise<string> {
  await using sound = await openProbeEngine(make);
  const { callId } = await sound.probe("changeThenThrow");
  const report = sound.reports.find((each) => each.callId === callId);
  const isNamed = report?.stage === "execute" && report.code === "E3907";
  expect(isNamed, "a tool's exception did not reach the handler");
  expect(hasStack(report), "the report has no stack");

  await using lost = await openProbeEngine(make, { authority: THROWING_AUTHORITY });
  const denied = await lost.probe("answer");
  expect(lastStateOf(denied) === "DENIED", `a lost authority ended with ${endOf(denied)}`);
  const isReported = lost.reports.some(({ stage, code }) => stage === "authorise" && code === "E3206");
  expect(isReported, "the authority's exception did not reach the handler");

  await using broken = await openProbeEngine(make, { errors: THROWING_HANDLER });
  const undone = await broken.probe("throwText");
  expect(lastStateOf(undone) === "ROLLED_BACK", `with a broken handler a call ended with ${endOf(undone)}`);
  return "a tool's and the authority's exceptions were reported with stage and stack; a broken handler did no harm";
}

function throwFromMeter(): never {
  throw new Error("probe: the meter is broken");
}

const THROWING_METER: Meter = {
  createCounter: () => ({ add: throwFromMeter }),
  createHistogram: () => ({ record: throwFromMeter }),
};

/** Gives the engine a meter and reads it; then one that throws, which must harm nobody. */
async function telemetryIsActive({ make }: IntegrationContext, expect: Expect): Promise<string> {
  await using sound = await openProbeEngine(make);
  await sound.probe("answer");
  sound.flush();
  expect(sound.meter.total("tool_invocations_total") === 1, "the call did not reach the meter");
  expect(sound.meter.total("permission_checks_total") === 1, "the decision did not reach the meter");

  await using broken = await openProbeEngine(make, { meter: THROWING_METER });
  const answer = await broken.probe("answer");
  broken.flush();
  expect(answer.status === "success", `with a broken meter a call ended with ${endOf(answer)}`);
  return "a call and its decision reached the meter; a meter that throws did no harm";
}

/** Asks the private authority, the configured one, and a running tool's bounds: each must know a yes from a no. */
async function capabilitySystemIsActive(context: IntegrationContext, expect: Expect): Promise<string> {
  const { make, authority } = context;
  await using engine = await openProbeEngine(make);
  await expectDenied(engine, expect, "the probes' authority");
  const sneaky = usingTool("sneaky", []);
  await engine.register(sneaky);
  const ended = await engine.call(sneaky);
  expect(codeOf(ended) === "E3212", `a capability used but not declared ended with ${endOf(ended)}`);
  const honest = usingTool("honest", ["state.read"]);
  await engine.register(honest);
  const answer = await engine.call(honest);
  expect(answer.status === "success", `a granted capability ended with ${endOf(answer)}`);
  const last = (await engine.eventsOf(answer)).at(-1);
  expect(isDeepStrictEqual(last?.capabilities, ["state.read"]), "the grant is not on record");
  const seen = "a capability nobody gave was denied, one used without being declared ended the call";
  if (!authority) return seen;
  await using configured = await openProbeEngine(make, { authority });
  await expectDenied(configured, expect, "the configured grants");
  return `${seen}; the configured grants deny it too`;
}

async function expectDenied(engine: ProbeEngine, expect: Expect, who: string): Promise<void> {
  // A name that no grant can give by accident: capabilities are matched exactly.
  const { tool, runs } = countedTool(["sallyport.conformance.unheard-of"]);
  await engine.register(tool);
  const answer = await engine.call(tool, "run", { input: { value: 1 } });
  const denied = lastStateOf(answer) === "DENIED" && runs() === 0;
  expect(denied, `${who}: a capability nobody gave ended with ${endOf(answer)}`);
}

/** A tool that uses a capability and would hide the refusal. */
function usingTool(name: string, requiredCapabilities: string[]) {
  return smallTool(name, requiredCapabilities, async (_input, { use }) => {
    await use("state.read").catch(() => undefined);
    return { value: 1 };
  });
}

/** Runs a probe in a process of its own and reads the isolation its answer states: anything but LEVEL_2 is none. */
async function sandboxIsActive({ make, sandbox }: IntegrationContext, expect: Expect): Promise<string> {
  if (!sandbox) {
    expect(false, "this engine was given no sandbox");
    return "";
  }
  await using engine = await openProbeEngine(make, { ...sandbox, runner: "script" });
  const answer = await engine.probe("answer");
  const { status, isolation } = answer;
  if (status !== "success" || !isolation) {
    expect(false, `a script tool could not be run isolated: ${endOf(answer)}`);
    return "";
  }
  const evidence = `a script tool ran in ${isolation.runner} at ${isolation.level}`;
  expect(isolation.level === "LEVEL_2", evidence);
  return evidence;
}
