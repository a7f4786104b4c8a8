import { isDeepStrictEqual } from "node:util";
import { codeOf, endOf, statesOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse } from "../probe-house.ts";
import { probe } from "../probe-tool.ts";

/** Lets a probe answer what it did not promise, after a change: neither the answer nor the change may get through. */
export async function validatesOutputs(make: EngineFactory): Promise<Seen> {
  return await inProbeHouse({ make }, async (house) => {
    await house.register(probe);
    const right = await house.call(probe, "keep");
    const before = await house.stateOf(probe);
    const wrong = await house.call(probe, "changeThenLie");
    const found = new Findings();
    found.expect(right.status === "success", `a right output ended with ${endOf(right)}`);
    found.expect(codeOf(wrong) === "E3501", `a wrong output ended with ${endOf(wrong)}`);
    found.expect(statesOf(wrong).at(-1) === "ROLLED_BACK", "a wrong output did not roll the call back");
    found.expect(
      isDeepStrictEqual(await house.stateOf(probe), before),
      "the change before a wrong output was kept",
    );
    return found.conclude(`a wrong output: ${endOf(wrong)}, its change dropped; a right one got through`);
  });
}
