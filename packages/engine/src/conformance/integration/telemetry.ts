import type { CallAnswer } from "@sallyport/protocol";
import type { Meter } from "../../ports/telemetry.ts";
import { endOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse, type ProbeHouse } from "../probe-house.ts";
import { probe } from "../probe-tool.ts";

function broken(): never {
  throw new Error("probe: the meter is broken");
}

const BROKEN: Meter = {
  createCounter: () => ({ add: broken }),
  createHistogram: () => ({ record: broken }),
};

/** Hands the engine a meter and reads it; then one that throws, which must harm nobody. */
export async function telemetryIsActive(make: EngineFactory): Promise<Seen> {
  const found = new Findings();
  await inProbeHouse({ make }, async (house) => {
    await callOnce(house);
    found.expect(house.meter.total("tool_invocations_total") === 1, "the call did not reach the meter");
    found.expect(house.meter.total("permission_checks_total") === 1, "the decision did not reach the meter");
  });
  await inProbeHouse({ make, meter: BROKEN }, async (house) => {
    const answer = await callOnce(house);
    found.expect(answer.status === "success", `with a broken meter a call ended with ${endOf(answer)}`);
  });
  return found.conclude("a call and its decision reached the meter; a meter that throws did no harm");
}

async function callOnce(house: ProbeHouse): Promise<CallAnswer> {
  await house.register(probe);
  const answer = await house.call(probe, "answer");
  await house.settle();
  return answer;
}
