import { isDeepStrictEqual } from "node:util";
import type { CallAnswer, JsonObject } from "@sallyport/protocol";
import type { ErrorReport } from "../../ports/telemetry.ts";
import { hasStack } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse, type ProbeHouse, type RunnerKind } from "../probe-house.ts";
import { probe, probeFor } from "../probe-tool.ts";

/** What the runtime guarantees around every tool that one runner runs, whatever the tool does. */
export interface Containment {
  transaction: Seen;
  reporting: Seen;
  answering: Seen;
}

interface Trial {
  kept: CallAnswer;
  before: JsonObject;
  misdeeds: Map<string, CallAnswer>;
  after: JsonObject;
  next: CallAnswer;
}

const CHANGES = "changeThenThrow";
const MISDEEDS = [CHANGES, "throwText", "rejectNothing"];

/** Lets a probe misbehave in the given runner and looks at what comes of it. Rejects when the probe cannot be run. */
export async function proveContainment(kind: RunnerKind, make: EngineFactory): Promise<Containment> {
  return await inProbeHouse({ make }, async (house) => {
    await house.register(probe, probeFor(kind));
    const trial = await misbehave(house);
    return {
      transaction: transaction(trial, kind),
      reporting: reporting(trial, house.errors.reports, kind),
      answering: answering(trial, kind),
    };
  });
}

async function misbehave(house: ProbeHouse): Promise<Trial> {
  const kept = await house.call(probe, "keep");
  const before = await house.stateOf(probe);
  const misdeeds = new Map<string, CallAnswer>();
  for (const operation of MISDEEDS) misdeeds.set(operation, await house.call(probe, operation));
  const after = await house.stateOf(probe);
  return { kept, before, misdeeds, after, next: await house.call(probe, "answer") };
}

function transaction({ kept, before, misdeeds, after }: Trial, kind: RunnerKind): Seen {
  const rollback = misdeeds.get(CHANGES)?.rollback;
  const found = new Findings();
  found.expect(
    kept.status === "success" && before.kept === 1,
    `${kind}: a change that succeeded was not kept`,
  );
  found.expect(rollback?.verified === true, `${kind}: no verified rollback after a change and a throw`);
  found.expect(rollback?.discardedMutations === 3, `${kind}: not every change went through the transaction`);
  found.expect(isDeepStrictEqual(after, before), `${kind}: the changes of a failed call were left behind`);
  return found.conclude(`${kind}: 3 changes before a throw were dropped, state as before`);
}

function reporting({ misdeeds }: Trial, reports: readonly ErrorReport[], kind: RunnerKind): Seen {
  const found = new Findings();
  for (const [operation, { callId }] of misdeeds) {
    const report = reports.find((each) => each.callId === callId);
    found.expect(report !== undefined, `${kind}: ${operation} was not reported`);
    const placed = report?.tool === probe.manifest.id && report.stage !== undefined && report.code !== "";
    found.expect(placed, `${kind}: the report of ${operation} lacks code, tool or stage`);
    found.expect(
      operation !== CHANGES || hasStack(report),
      `${kind}: the report of ${operation} has no stack`,
    );
  }
  return found.conclude(
    `${kind}: ${misdeeds.size} of ${misdeeds.size} errors reported with code, call, tool and stage`,
  );
}

function answering({ misdeeds, next }: Trial, kind: RunnerKind): Seen {
  const found = new Findings();
  for (const [operation, answer] of misdeeds) {
    const structured =
      answer.status !== "success" && answer.error.code === "E3907" && answer.error.message !== "";
    found.expect(structured, `${kind}: ${operation} did not become a structured error`);
  }
  found.expect(next.status === "success", `${kind}: the call after the misbehaviour did not succeed`);
  return found.conclude(`${kind}: an error, a string and nothing at all, once thrown, came back as E3907`);
}
