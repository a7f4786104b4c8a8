import { isDeepStrictEqual } from "node:util";
import type { CallAnswer } from "@sallyport/protocol";
import { endOf, statesOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse } from "../probe-house.ts";
import { eventsOf } from "../probe-record.ts";
import { probe } from "../probe-tool.ts";

/** Room for one call and for none that waits: a place that is not given back stops the next call. */
const ONE_PLACE = { total: 1, queue: 0 };

/** Lets a probe change state and fail: all of it must be undone and given back. */
export async function rollsBack(make: EngineFactory): Promise<Seen> {
  return await inProbeHouse({ make, admission: ONE_PLACE }, async (house) => {
    await house.register(probe);
    await house.call(probe, "keep");
    const before = await house.stateOf(probe);
    const answer = await house.call(probe, "changeThenThrow");
    const found = new Findings();
    found.expect(Object.keys(before).length > 0, "nothing was there to be restored");
    found.expect(isDeepStrictEqual(await house.stateOf(probe), before), "the state is not as it was");
    expectProved(found, answer);
    const told = (await eventsOf(house.store, answer.executionId)).some(
      ({ state }) => state === "ROLLED_BACK",
    );
    found.expect(told, "no audit event tells of the rollback");
    const next = await house.call(probe, "answer");
    found.expect(next.status === "success", `its place was not given back: the next call got ${endOf(next)}`);
    const dropped = answer.rollback?.discardedMutations;
    return found.conclude(`${dropped} changes dropped, state equal to before and verified, place given back`);
  });
}

function expectProved(found: Findings, answer: CallAnswer): void {
  found.expect(answer.rollback?.verified === true, "the rollback is not verified");
  found.expect(statesOf(answer).at(-1) === "ROLLED_BACK", `the call ended with ${endOf(answer)}`);
  found.expect(answer.status !== "success" && answer.error.message !== "", "there is no structured error");
}
