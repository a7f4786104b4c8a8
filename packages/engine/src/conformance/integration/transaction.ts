import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@sallyport/protocol";
import type { ToolContext } from "../../ports/runner.ts";
import { defineTool } from "../../registry/index.ts";
import { endOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse, PROBER, type ProbeHouse } from "../probe-house.ts";
import { NOTHING, ONE_VALUE } from "../probe-tool.ts";

/** Looks into the store while a call changes state and after it: the change must be the call's alone until it ends. */
export async function transactionIsActive(make: EngineFactory): Promise<Seen> {
  return await inProbeHouse({ make }, async (house) => {
    const { tool, during } = watchedTool(house);
    await house.register(tool);
    const answer = await house.call(tool, "run");
    const { own, outside } = during();
    const scope = { tenant: PROBER.tenant, tool: tool.manifest.id };
    const found = new Findings();
    found.expect(answer.status === "success", `the probe ended with ${endOf(answer)}`);
    found.expect(own === 1, "the running call did not see its own change");
    found.expect(isDeepStrictEqual(outside, {}), "the change was in the store before the call had ended");
    found.expect(
      isDeepStrictEqual(await house.stateOf(tool), { n: 1 }),
      "the change was not kept when the call ended",
    );
    found.expect(
      (await house.store.state.writtenBy(scope, answer.callId)) === 1,
      "the store does not know whose change it is",
    );
    return found.conclude(
      "a change was the call's alone while it ran and was kept, under its id, when it ended",
    );
  });
}

function watchedTool(house: ProbeHouse) {
  let seen: { own: unknown; outside: JsonObject | undefined } = { own: undefined, outside: undefined };
  const tool = defineTool({
    id: "sallyport.conformance.watched",
    version: "1.0.0",
    description: "Changes state and lets the check look.",
    sideEffects: "state",
    requiredCapabilities: ["state.read", "state.write"],
    input: NOTHING,
    output: ONE_VALUE,
    run: async (_input, { state }: ToolContext) => {
      await state.put("n", 1);
      seen = { own: await state.get("n"), outside: await house.stateOf(tool) };
      return { value: 1 };
    },
  });
  return { tool, during: () => seen };
}
