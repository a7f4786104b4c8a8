import { appendFileSync } from "node:fs";
import { defineTool, type ToolContext } from "@sallyport/engine/tool";

const ANY = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
const common = { version: "1.0.0", description: "For load.", input: ANY, output: ANY };

/** Changes nothing. */
export const look = defineTool({
  ...common,
  id: "look",
  sideEffects: "none",
  run: (input: { key: string }) => ({ seen: input.key }),
});

/** Changes transactional state: adds one to a counter. */
export const count = defineTool({
  ...common,
  id: "count",
  sideEffects: "state",
  requiredCapabilities: ["state.read", "state.write"],
  run: async (input: { counter: string }, { state }: ToolContext) => {
    const next = Number((await state.get(input.counter)) ?? 0) + 1;
    await state.put(input.counter, next);
    return { value: next };
  },
});

/** Changes the world outside at once and for good: one line in a file. */
export const pay = defineTool({
  ...common,
  id: "pay",
  sideEffects: "external",
  run: ({ witness, key }: { witness: string; key: string }, { callId }: ToolContext) => {
    appendFileSync(witness, `${key} ${callId}\n`);
    return { paid: key };
  },
});
