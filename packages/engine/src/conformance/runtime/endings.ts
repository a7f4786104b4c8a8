import type { CallAnswer } from "@sallyport/protocol";
import { grantAuthority } from "../../authorise/house-authority.ts";
import { PROBE_CAPABILITIES, PROBER, type ProbeHouse } from "../probe-house.ts";
import { probe } from "../probe-tool.ts";

const STRANGER = { ...PROBER, agent: "stranger" };

/** Lets everybody but the stranger call the probe, so that a call can also end in DENIED. */
export const ALL_BUT_STRANGERS = grantAuthority([
  {
    id: "prober",
    tenants: ["*"],
    agents: [PROBER.agent],
    tools: ["*"],
    operations: ["*"],
    capabilities: PROBE_CAPABILITIES,
  },
]);

/** One call to each ending: COMPLETED, FAILED, DENIED, ROLLED_BACK, and ABORTED before that. */
export async function everyEnding(house: ProbeHouse): Promise<CallAnswer[]> {
  await house.register(probe);
  return [
    await house.call(probe, "keep"),
    await house.call(probe, "keep", { input: { unknown: true } }),
    await house.call(probe, "keep", { caller: STRANGER }),
    await house.call(probe, "changeThenThrow"),
    await house.call(probe, "linger", { limits: { timeoutMs: 20 } }),
  ];
}
