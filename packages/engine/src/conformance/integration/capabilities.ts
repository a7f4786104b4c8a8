import type { Authority } from "../../ports/authority.ts";
import type { ToolContext } from "../../ports/runner.ts";
import { defineTool } from "../../registry/index.ts";
import { codeOf, endOf, statesOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { countedTool } from "../counted-tool.ts";
import { type EngineFactory, inProbeHouse, type ProbeHouse } from "../probe-house.ts";
import { eventsOf } from "../probe-record.ts";
import { NOTHING, ONE_VALUE } from "../probe-tool.ts";

/** A name no grant can give by accident: capabilities are matched exactly. */
const UNHEARD_OF = "sallyport.conformance.unheard-of";

/** Asks the private authority, the house's own, and a running tool's bounds: each must know a yes from a no. */
export async function capabilitySystemIsActive(make: EngineFactory, authority?: Authority): Promise<Seen> {
  const found = new Findings();
  await inProbeHouse({ make }, async (house) => {
    await expectDenied(house, found, "the probes' authority");
    await expectBounds(house, found);
    await expectGranted(house, found);
  });
  const ours = "a capability nobody gave was denied, one used without being declared ended the call";
  if (!authority) return found.conclude(ours);
  await inProbeHouse({ make, authority }, (house) => expectDenied(house, found, "this house's grants"));
  return found.conclude(`${ours}; this house's grants deny it too`);
}

async function expectDenied(house: ProbeHouse, found: Findings, who: string): Promise<void> {
  const { tool, runs } = countedTool([UNHEARD_OF]);
  await house.register(tool);
  const answer = await house.call(tool, "run", { input: { value: 1 } });
  const denied = statesOf(answer).at(-1) === "DENIED" && runs() === 0;
  found.expect(denied, `${who}: a capability nobody gave ended with ${endOf(answer)}`);
}

async function expectBounds(house: ProbeHouse, found: Findings): Promise<void> {
  const tool = usingTool("sallyport.conformance.sneaky", []);
  await house.register(tool);
  const answer = await house.call(tool, "run");
  found.expect(codeOf(answer) === "E3212", `a capability used but not declared ended with ${endOf(answer)}`);
}

async function expectGranted(house: ProbeHouse, found: Findings): Promise<void> {
  const tool = usingTool("sallyport.conformance.honest", ["state.read"]);
  await house.register(tool);
  const answer = await house.call(tool, "run");
  found.expect(answer.status === "success", `a granted capability ended with ${endOf(answer)}`);
  const last = (await eventsOf(house.store, answer.executionId)).at(-1);
  found.expect(JSON.stringify(last?.capabilities) === '["state.read"]', "the grant is not on record");
}

/** A tool that uses a capability and would hide the refusal. */
function usingTool(id: string, requiredCapabilities: string[]) {
  return defineTool({
    id,
    version: "1.0.0",
    description: "Uses a capability and carries on whatever the answer.",
    sideEffects: "none",
    requiredCapabilities,
    input: NOTHING,
    output: ONE_VALUE,
    run: async (_input, { use }: ToolContext) => {
      await use("state.read").catch(() => undefined);
      return { value: 1 };
    },
  });
}
