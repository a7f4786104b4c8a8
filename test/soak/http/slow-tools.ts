import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool, type ToolContext } from "@sallyport/engine/tool";

const ANY = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
const STEPS = 5;

/** Takes its time, waits for a file if it is told to, says how far it is, and then changes the world outside: one line in a file. */
export const slow = defineTool({
  id: "slow",
  version: "1.0.0",
  description: "For load.",
  input: ANY,
  output: ANY,
  sideEffects: "external",
  limits: { timeoutMs: 120_000 },
  run: async (input: { witness: string; key: string; ms: number; until?: string }, context: ToolContext) => {
    const { callId, signal, progress } = context;
    progress(0, "begun");
    for (let step = 1; step <= STEPS; step += 1) {
      await sleep(input.ms / STEPS, undefined, { signal });
      progress((step / STEPS) * 100, `step ${step}`);
    }
    while (input.until && !existsSync(input.until)) await sleep(20, undefined, { signal });
    appendFileSync(input.witness, `${input.key} ${callId}\n`);
    return { paid: input.key };
  },
});
