import type { ConfiguredGrant } from "../../authorise/grants.ts";
import { grantAuthority } from "../../authorise/house-authority.ts";
import { endOf, statesOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { countedTool } from "../counted-tool.ts";
import { type EngineFactory, inProbeHouse, PROBER } from "../probe-house.ts";

const NEEDED = "conformance.probe";
const ANY = { tenants: ["*"], tools: ["*"], operations: ["*"] };
const GRANTS: ConfiguredGrant[] = [
  { ...ANY, id: "whole", agents: ["granted"], capabilities: [NEEDED] },
  { ...ANY, id: "half", agents: ["half-granted"], capabilities: ["conformance.other"] },
];

/** Calls a tool without a grant and with too little of one: it must not run. */
export async function authorisesFirst(make: EngineFactory): Promise<Seen> {
  return await inProbeHouse({ make, authority: grantAuthority(GRANTS) }, async (house) => {
    const { tool, runs } = countedTool([NEEDED]);
    await house.register(tool);
    const callAs = (agent: string) =>
      house.call(tool, "run", { input: { value: 1 }, caller: { ...PROBER, agent } });
    const found = new Findings();
    for (const agent of ["stranger", "half-granted"]) {
      const answer = await callAs(agent);
      const denied = statesOf(answer).at(-1) === "DENIED" && answer.status === "permission_denied";
      found.expect(denied, `the ${agent} agent got ${endOf(answer)}`);
    }
    found.expect(runs() === 0, `the tool ran ${runs()} times without its capability`);
    const granted = await callAs("granted");
    found.expect(granted.status === "success" && runs() === 1, `the granted agent got ${endOf(granted)}`);
    return found.conclude("without a grant and without the capability: DENIED, not run; with both: run");
  });
}
