import { defineTool } from "../registry/index.ts";
import { ONE_VALUE } from "./probe-tool.ts";

/** A tool that counts how often it is run. */
export function countedTool(requiredCapabilities: string[] = []) {
  let count = 0;
  const tool = defineTool({
    id: "sallyport.conformance.counted",
    version: "1.0.0",
    description: "Counts its runs.",
    sideEffects: "none",
    requiredCapabilities,
    input: ONE_VALUE,
    output: ONE_VALUE,
    run: () => {
      count += 1;
      return { value: count };
    },
  });
  return { tool, runs: () => count };
}
