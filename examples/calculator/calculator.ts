import { defineTool } from "@sallyport/engine/tool";
import { z } from "zod";

const operands = z.strictObject({
  a: z.number().describe("Left operand"),
  b: z.number().describe("Right operand"),
});

const result = z.strictObject({ result: z.number().describe("What the operation yields") });

/** The worked example of the message specification: four operations over two numbers (MCX-10). */
export const calculator = defineTool({
  id: "calculator",
  version: "1.0.0",
  name: "Calculator",
  description: "Adds, subtracts, multiplies and divides two numbers.",
  sideEffects: "none",
  deterministic: true,
  idempotent: true,
  limits: { timeoutMs: 30_000, memoryBytes: 64 * 1024 * 1024 },
  operations: {
    add: { description: "a + b", input: operands, output: result, run: ({ a, b }) => ({ result: a + b }) },
    subtract: {
      description: "a - b",
      input: operands,
      output: result,
      run: ({ a, b }) => ({ result: a - b }),
    },
    multiply: {
      description: "a × b",
      input: operands,
      output: result,
      run: ({ a, b }) => ({ result: a * b }),
    },
    divide: {
      description: "a ÷ b; dividing by zero is an error",
      input: operands,
      output: result,
      run: ({ a, b }) => {
        if (b === 0) throw new RangeError("division by zero");
        return { result: a / b };
      },
    },
  },
});
