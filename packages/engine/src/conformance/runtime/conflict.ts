import type { CallAnswer } from "@sallyport/protocol";
import type { ToolContext } from "../../ports/runner.ts";
import { defineTool } from "../../registry/index.ts";
import { codeOf, endOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse, type ProbeHouse } from "../probe-house.ts";
import { checkChain } from "../probe-record.ts";
import { NOTHING, ONE_VALUE } from "../probe-tool.ts";

const RUSH = 20;

/** Lets two calls read the same value and write it, then many at once: no change may be lost or made up. */
export async function neverCorrupts(make: EngineFactory): Promise<Seen> {
  return await inProbeHouse({ make, admission: { perAgent: RUSH } }, async (house) => {
    const found = new Findings();
    const two = await rivals(house, found);
    const many = await rush(house, found);
    const { findings } = await checkChain(house.store);
    found.expect(findings.length === 0, "the audit chain broke under calls at once");
    return found.conclude(`${two}; ${many}`);
  });
}

async function rivals(house: ProbeHouse, found: Findings): Promise<string> {
  const tool = counter("sallyport.conformance.rivals", meeting(2));
  await house.register(tool);
  const answers = await Promise.all([house.call(tool, "run"), house.call(tool, "run")]);
  const won = answers.filter(({ status }) => status === "success");
  const lost = answers.filter((answer) => codeOf(answer) === "E3704");
  found.expect(won.length === 1 && lost.length === 1, `two rivals got ${answers.map(endOf).join(" and ")}`);
  found.expect(lost.every(isUndone), "the rival that lost was not rolled back");
  found.expect((await house.stateOf(tool)).n === 1, "the value two rivals wrote is not the winner's");
  return "of two calls that wrote the same value one was kept, one rolled back";
}

async function rush(house: ProbeHouse, found: Findings): Promise<string> {
  const tool = counter("sallyport.conformance.rush", async () => undefined);
  await house.register(tool);
  const answers = await Promise.all(Array.from({ length: RUSH }, () => house.call(tool, "run")));
  const won = answers.filter(({ status }) => status === "success").length;
  const { n } = await house.stateOf(tool);
  found.expect(
    won > 0 && n === won,
    `${won} of ${RUSH} calls at once counted, the counter says ${String(n)}`,
  );
  return `${won} of ${RUSH} at once succeeded and the counter says ${String(n)}`;
}

function isUndone({ rollback }: CallAnswer): boolean {
  return rollback?.verified === true;
}

function counter(id: string, meet: () => Promise<void>) {
  return defineTool({
    id,
    version: "1.0.0",
    description: "Reads, waits for the others and counts one more.",
    sideEffects: "state",
    requiredCapabilities: ["state.read", "state.write"],
    limits: { timeoutMs: 1_000 },
    input: NOTHING,
    output: ONE_VALUE,
    run: async (_input, { state }: ToolContext) => {
      const value = Number((await state.get("n")) ?? 0) + 1;
      await meet();
      await state.put("n", value);
      return { value };
    },
  });
}

/** Holds everybody until all are there, so that each has read before anybody writes. */
function meeting(size: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let present = 0;
  return async () => {
    present += 1;
    if (present === size) resolve();
    await promise;
  };
}
