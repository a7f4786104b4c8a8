import type { CallAnswer } from "@sallyport/protocol";
import { endOf } from "../answers.ts";
import type { Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse, type RunnerKind } from "../probe-house.ts";
import { probe, probeFor } from "../probe-tool.ts";

const KINDS: readonly RunnerKind[] = ["inline", "thread"];
const WHY =
  "threads contain faults but are no security boundary, and an OS sandbox is not part of this version";

/** Runs a probe in every runner and reads the isolation its answer states; LEVEL_0 anywhere is no sandbox. */
export async function sandboxIsActive(make: EngineFactory): Promise<Seen> {
  const answers = new Map<RunnerKind, CallAnswer>();
  for (const kind of KINDS) answers.set(kind, await runIn(kind, make));
  const unseen = [...answers].find(([, { status, isolation }]) => status !== "success" || !isolation);
  if (unseen)
    return { passed: false, evidence: `${unseen[0]}: no isolation to be seen, ${endOf(unseen[1])}` };
  const levels = [...answers].map(([kind, { isolation }]) => `${kind} ${isolation?.level}`).join(", ");
  const bare = [...answers.values()].some(({ isolation }) => isolation?.level === "LEVEL_0");
  if (!bare) return { passed: true, evidence: `isolation in force: ${levels}` };
  return { passed: false, notInThisVersion: true, evidence: `isolation in force: ${levels}; ${WHY}` };
}

async function runIn(kind: RunnerKind, make: EngineFactory): Promise<CallAnswer> {
  return await inProbeHouse({ make }, async (house) => {
    await house.register(probe, probeFor(kind));
    return await house.call(probe, "answer");
  });
}
