import type { CallAnswer } from "@sallyport/protocol";
import { codeOf, endOf, statesOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse, type ProbeHouse, type RunnerKind } from "../probe-house.ts";
import { probe, probeFor } from "../probe-tool.ts";

const DEADLINE_MS = 60;
/** How much later than its deadline a call may end before the deadline counts as not kept; a busy host needs much. */
const SLACK_MS = 5_000;

/** Lets a probe pass its deadline, its memory and its output limit; each must end it. */
export async function enforcesLimits(make: EngineFactory): Promise<Seen> {
  const found = new Findings();
  const evidence = [await inlineLimits(make, found), await threadLimits(make, found)];
  return found.conclude(evidence.join("; "));
}

async function inlineLimits(make: EngineFactory, found: Findings): Promise<string> {
  return await withProbe("inline", make, async (house) => {
    const late = await house.call(probe, "linger", { limits: { timeoutMs: DEADLINE_MS } });
    expectAborted(found, late, { what: "a tool that never answers", code: "E3103" });
    const large = await house.call(probe, "overflow");
    found.expect(codeOf(large) === "E3509", `an output over its limit ended with ${endOf(large)}`);
    return `a waiting tool was ended after ${late.usage.durationMs} ms, its limit being ${DEADLINE_MS}`;
  });
}

async function threadLimits(make: EngineFactory, found: Findings): Promise<string> {
  return await withProbe("thread", make, async (house) => {
    const warm = await house.call(probe, "answer");
    found.expect(warm.status === "success", `a thread could not be used: ${endOf(warm)}`);
    const stuck = await house.call(probe, "spin", { limits: { timeoutMs: DEADLINE_MS } });
    expectAborted(found, stuck, { what: "a tool in an endless loop", code: "E3103" });
    const greedy = await house.call(probe, "hoard");
    expectAborted(found, greedy, { what: "a tool over its memory", code: "E3102" });
    const mebibytes = Math.round(greedy.usage.memoryPeakBytes / 2 ** 20);
    return `an endless loop after ${stuck.usage.durationMs} ms; a hoarder at ${mebibytes} MiB of 64`;
  });
}

async function withProbe<Result>(
  kind: RunnerKind,
  make: EngineFactory,
  use: (house: ProbeHouse) => Promise<Result>,
): Promise<Result> {
  return await inProbeHouse({ make }, async (house) => {
    await house.register(probe, probeFor(kind));
    return await use(house);
  });
}

function expectAborted(
  found: Findings,
  answer: CallAnswer,
  { what, code }: { what: string; code: string },
): void {
  const aborted = statesOf(answer).includes("ABORTED") && statesOf(answer).at(-1) === "ROLLED_BACK";
  found.expect(aborted && codeOf(answer) === code, `${what} ended with ${endOf(answer)}`);
  const inTime = code !== "E3103" || answer.usage.durationMs < DEADLINE_MS + SLACK_MS;
  found.expect(inTime, `${what} held on for ${answer.usage.durationMs} ms`);
}
