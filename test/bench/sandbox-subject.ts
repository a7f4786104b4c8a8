import { defineTool } from "@sallyport/engine/tool";

const numbers = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };

/** The script tool of the benchmarks; it imports no more than an author's has to. */
export const sum = defineTool({
  id: "bench.sum",
  version: "1.0.0",
  description: "Adds two numbers.",
  input: numbers,
  run: ({ a, b }: { a: number; b: number }) => ({ result: a + b }),
});
