import type { EngineOptions } from "../../call/furnish.ts";
import { endOf } from "../answers.ts";
import type { Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse } from "../probe-house.ts";
import { probe, probeFor } from "../probe-tool.ts";

/** The house's own sandbox, and the runners that use it. */
export type SandboxParts = Required<Pick<EngineOptions, "isolation" | "runners">>;

/** Runs a probe in a process of its own and reads the isolation its answer states: anything but LEVEL_2 is none. */
export async function sandboxIsActive(make: EngineFactory, parts?: SandboxParts): Promise<Seen> {
  if (!parts) return { passed: false, evidence: "this engine was given no sandbox" };
  const answer = await inProbeHouse({ make, ...parts }, async (house) => {
    await house.register(probe, probeFor("script"));
    return await house.call(probe, "answer");
  });
  const { status, isolation } = answer;
  if (status !== "success" || !isolation) {
    return { passed: false, evidence: `a script tool could not be run isolated: ${endOf(answer)}` };
  }
  const evidence = `a script tool ran in ${isolation.runner} at ${isolation.level}`;
  return { passed: isolation.level === "LEVEL_2", evidence };
}
