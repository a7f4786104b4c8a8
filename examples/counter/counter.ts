import { defineTool } from "@sallyport/engine/tool";

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

const name = {
  $schema: DRAFT,
  type: "object",
  description: "Which counter",
  properties: { name: { type: "string", description: "Name of the counter", minLength: 1, maxLength: 100 } },
  required: ["name"],
  additionalProperties: false,
};

const value = {
  $schema: DRAFT,
  type: "object",
  description: "Where the counter stands",
  properties: { value: { type: "integer", description: "Its value" } },
  required: ["value"],
  additionalProperties: false,
};

/** Counters in transactional state: a failed or interrupted call leaves them as they were. */
export const counter = defineTool({
  id: "counter",
  version: "1.0.0",
  name: "Counter",
  description: "Named counters that survive crashes and never count twice.",
  sideEffects: "state",
  requiredCapabilities: ["state.read", "state.write"],
  operations: {
    increment: {
      description: "Adds one and says where the counter stands",
      input: name,
      output: value,
      run: async (input: { name: string }, { state }) => {
        const next = Number((await state.get(input.name)) ?? 0) + 1;
        await state.put(input.name, next);
        return { value: next };
      },
    },
    read: {
      description: "Says where the counter stands",
      sideEffects: "none",
      requiredCapabilities: ["state.read"],
      input: name,
      output: value,
      run: async (input: { name: string }, { state }) => ({
        value: Number((await state.get(input.name)) ?? 0),
      }),
    },
  },
});
