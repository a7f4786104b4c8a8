import { defineTool } from "@sallyport/engine";

const DRAFT = "https://json-schema.org/draft/2020-12/schema";

export const ADD_INPUT = {
  $schema: DRAFT,
  type: "object",
  properties: { a: { type: "number", description: "left" }, b: { type: "number", description: "right" } },
  required: ["a", "b"],
  additionalProperties: false,
};

export const ADD_OUTPUT = {
  $schema: DRAFT,
  type: "object",
  properties: { result: { type: "number", description: "sum" } },
  required: ["result"],
  additionalProperties: false,
};

/** What is called in every benchmark: small enough that all the time is the passage's. */
export function add({ a, b }: { a: number; b: number }): { result: number } {
  return { result: a + b };
}

const operation = { description: "a + b", input: ADD_INPUT, output: ADD_OUTPUT, run: add };
const base = { version: "1.0.0", description: "Adds two numbers.", deterministic: true, idempotent: true };

export const pure = defineTool({
  ...base,
  id: "bench.add",
  sideEffects: "none",
  operations: { add: operation },
});

/** The same function, declared to change the world: its intent must be durable first. */
export const effectful = defineTool({
  ...base,
  id: "bench.pay",
  sideEffects: "external",
  operations: { add: operation },
});
