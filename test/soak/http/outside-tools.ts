import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool, type ToolContext } from "@sallyport/engine/tool";

const ANY = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
const common = { version: "1.0.0", description: "For load.", input: ANY, output: ANY };

type Payment = {
  witness: string;
  key: string;
  /** How long it takes. */
  ms: number;
};

function witness({ witness, key }: Payment, callId: string) {
  appendFileSync(witness, `${key} ${callId}\n`);
  return { paid: key };
}

/** Changes the world outside at once and for good: one line in a file. */
export const pay = defineTool({
  ...common,
  id: "pay",
  sideEffects: "external",
  run: (input: Payment, { callId }: ToolContext) => witness(input, callId),
});

/** Takes its time, says how far it is, and then changes the world outside. */
export const slow = defineTool({
  ...common,
  id: "slow",
  sideEffects: "external",
  limits: { timeoutMs: 120_000 },
  run: async (input: Payment, { callId, signal, progress }: ToolContext) => {
    const steps = 5;
    for (let step = 1; step <= steps; step += 1) {
      await sleep(input.ms / steps, undefined, { signal });
      progress((step / steps) * 100, `step ${step}`);
    }
    return witness(input, callId);
  },
});
