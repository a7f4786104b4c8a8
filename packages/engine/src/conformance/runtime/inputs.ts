import { grantAuthority } from "../../authorise/house-authority.ts";
import type { Authority } from "../../ports/authority.ts";
import { codeOf, endOf, statesOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { countedTool } from "../counted-tool.ts";
import { type EngineFactory, inProbeHouse } from "../probe-house.ts";

const WRONG: readonly (readonly [what: string, input: unknown])[] = [
  ["a wrong type", { value: "one" }],
  ["a missing property", {}],
  ["an unknown property", { value: 1, more: true }],
  ["something that is not JSON", () => 1],
];

/** Gives a tool inputs its schema forbids: it must not run, and nobody may be asked for permission. */
export async function validatesInputs(make: EngineFactory): Promise<Seen> {
  const { authority, asked } = countedAuthority();
  return await inProbeHouse({ make, authority }, async (house) => {
    const { tool, runs } = countedTool();
    await house.register(tool);
    const found = new Findings();
    for (const [what, input] of WRONG) {
      const answer = await house.call(tool, "run", { input });
      found.expect(statesOf(answer).at(-1) === "FAILED", `${what} ended with ${endOf(answer)}`);
    }
    found.expect(runs() === 0, `the tool ran ${runs()} times on wrong inputs`);
    found.expect(asked() === 0, `permission was asked ${asked()} times before the input was checked`);
    const right = await house.call(tool, "run", { input: { value: 1 } });
    found.expect(codeOf(right) === undefined && runs() === 1, `a right input ended with ${endOf(right)}`);
    return found.conclude(`${WRONG.length} wrong inputs ended FAILED, the tool never ran; a right one did`);
  });
}

const ANY = { tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"] };

function countedAuthority() {
  const grants = grantAuthority([{ ...ANY, id: "any", capabilities: [] }]);
  let count = 0;
  const authority: Authority = {
    decide(request) {
      count += 1;
      return grants.decide(request);
    },
  };
  return { authority, asked: () => count };
}
